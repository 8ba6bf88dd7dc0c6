import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { createUsageBuffer, type UsageBuffer } from '../../../src/application/login-tokens/usage-buffer.ts'
import type { LogFields } from '../../../src/application/ports/log.ts'
import type { TokenUse } from '../../../src/application/ports/login-tokens.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { tokenUsageContract } from '../../../src/testing/contracts/token-usage.ts'
import { type MovableClock, movableClock } from '../../../src/testing/movable-clock.ts'
import { countedTimers, turn } from '../../support/fakes.ts'

tokenUsageContract('the buffer', (tokens, clock) => {
  const usage = createUsageBuffer(tokens, clock, { info() {}, warn() {}, error() {} })
  return {
    usage,
    async settle() {
      const closed = usage.close()
      // It tries a failed write again after a pause.
      for (let steps = 0; steps < 10; steps++) {
        await turn()
        clock.advance(100)
      }
      await closed
    },
  }
})

let clock: ReturnType<typeof countedTimers<MovableClock>>
/** The uses in each write. */
let writes: (readonly TokenUse[])[]
/** The response to a write. It may throw or advance the clock. */
let respond: (uses: readonly TokenUse[]) => Promise<readonly string[]>
let warnings: (readonly [string, LogFields | undefined])[]
let usage: UsageBuffer

beforeEach(() => {
  clock = countedTimers(movableClock())
  writes = []
  warnings = []
  respond = async () => []
  const warn = (event: string, fields?: LogFields) => void warnings.push([event, fields])
  usage = createUsageBuffer(
    {
      touch(uses) {
        writes.push(uses)
        return respond(uses)
      },
    },
    clock,
    { info() {}, warn, error: warn },
  )
})

async function pass(ms: number): Promise<void> {
  clock.advance(ms)
  await turn()
}

const ids = () => writes.map((uses) => uses.map(({ id }) => id))

describe('Token usage', () => {
  it('writes the first uses of many tokens immediately, in one batch, with their times', async () => {
    const beganMs = clock.nowMs()
    usage.used('a')
    clock.advance(1)
    usage.used('b')
    assert.deepEqual(writes, [])
    await pass(19)
    assert.deepEqual(writes, [
      [
        { id: 'a', atMs: beganMs },
        { id: 'b', atMs: beganMs + 1 },
      ],
    ])
  })

  it('writes only the first and the last of 10,000 uses within a minute', async () => {
    let lastMs = 0
    for (let uses = 0; uses < 10_000; uses++) {
      usage.used('a')
      lastMs = clock.nowMs()
      await pass(6)
    }
    await pass(60_000)
    await pass(20)
    assert.equal(writes.length, 2)
    assert.deepEqual(writes[1], [{ id: 'a', atMs: lastMs }])
    await pass(600_000)
    assert.equal(writes.length, 2)
  })

  it('writes a constantly used token once a minute', async () => {
    for (let second = 0; second < 600; second++) {
      usage.used('a')
      await pass(1000)
    }
    assert.ok(writes.length >= 9 && writes.length <= 10, `${writes.length} writes`)
  })

  it('forgets a token after a minute without use and writes its next use immediately', async () => {
    usage.used('a')
    await pass(20)
    await pass(60_000)
    assert.equal(writes.length, 1)
    usage.used('a')
    await pass(20)
    assert.equal(writes.length, 2)
  })

  it('retries a failed write and logs the failure once', async () => {
    respond = () => Promise.reject(new Unavailable())
    usage.used('a')
    await pass(20)
    usage.used('b')
    await pass(4999)
    assert.deepEqual(ids(), [['a']])
    await pass(1)
    await pass(20)
    respond = async () => []
    const latestMs = clock.nowMs()
    usage.used('a')
    for (let ms = 0; ms < 10_000; ms += 20) await pass(20)
    assert.deepEqual(new Set(ids().slice(-2).flat()), new Set(['a', 'b']))
    assert.equal(writes.flat().findLast(({ id }) => id === 'a')?.atMs, latestMs)
    assert.deepEqual(warnings, [['token_usage.failed', { error: 'Unavailable' }]])
    const { length } = writes
    await pass(30_000)
    assert.equal(writes.length, length)
    respond = () => Promise.reject(new Unavailable())
    usage.used('c')
    await pass(20)
    assert.equal(warnings.length, 2)
  })

  it('retries a failed use even if no other use follows', async () => {
    respond = () => Promise.reject(new Unavailable())
    const atMs = clock.nowMs()
    usage.used('a')
    await pass(20)
    respond = async () => []
    await pass(5000)
    await pass(20)
    assert.deepEqual(writes.slice(1), [[{ id: 'a', atMs }]])
  })

  it('soon retries a row that another transaction had locked', async () => {
    respond = async () => ['b']
    usage.used('a')
    usage.used('b')
    await pass(20)
    respond = async () => []
    await pass(5000)
    await pass(20)
    assert.deepEqual(ids(), [['a', 'b'], ['b']])
    assert.deepEqual(warnings, [])
  })

  it('writes one batch of at most 1,000 uses at a time, with pauses in between', async () => {
    respond = async () => {
      clock.advance(30)
      return []
    }
    for (let count = 0; count < 2500; count++) usage.used(`${count}`)
    await pass(20)
    assert.deepEqual(
      writes.map(({ length }) => length),
      [1000],
    )
    await pass(269)
    assert.equal(writes.length, 1)
    await pass(1)
    await pass(270)
    assert.deepEqual(
      writes.map(({ length }) => length),
      [1000, 1000, 500],
    )
    assert.equal(new Set(ids().flat()).size, 2500)
  })

  it('bounds its memory and keeps the latest uses', async () => {
    respond = () => Promise.reject(new Unavailable())
    for (let count = 0; count < 150_000; count++) usage.used(`${count}`)
    respond = async () => []
    await usage.close()
    const written = ids().flat()
    assert.ok(written.length <= 100_000, `${written.length} written`)
    assert.ok(written.length >= 99_000, `${written.length} written`)
    assert.ok(written.includes('149999'))
    assert.ok(!written.includes('0'))
  })

  it('evicts uses that are already written first', async () => {
    usage.used('old')
    await pass(20)
    for (let count = 1; count < 100_000; count++) usage.used(`${count}`)
    usage.used('one more')
    writes = []
    usage.used('old')
    await usage.close()
    assert.ok(ids().flat().includes('old'))
    assert.ok(ids().flat().includes('one more'))
  })

  it('writes pending uses and cancels every timer when closed', async () => {
    usage.used('a')
    await pass(20)
    usage.used('a')
    usage.used('b')
    const nowMs = clock.nowMs()
    await usage.close()
    // A pending timer would keep the process alive.
    assert.equal(clock.timers(), 0)
    assert.deepEqual(writes.slice(1), [
      [
        { id: 'a', atMs: nowMs },
        { id: 'b', atMs: nowMs },
      ],
    ])
    usage.used('c')
    await pass(600_000)
    assert.equal(writes.length, 2)
  })

  it('waits for the current write when closed and loses no use made meanwhile', async () => {
    let end = () => {}
    respond = () =>
      new Promise((resolve) => {
        end = () => resolve([])
      })
    usage.used('a')
    await pass(20)
    usage.used('a')
    let isClosed = false
    const closing = usage.close().then(() => {
      isClosed = true
    })
    await turn()
    assert.equal(isClosed, false)
    respond = async () => []
    end()
    await closing
    assert.deepEqual(ids(), [['a'], ['a']])
  })

  it('retries a failed write in progress when closed', async () => {
    let fail = () => {}
    respond = () =>
      new Promise((_, reject) => {
        fail = () => reject(new Unavailable())
      })
    usage.used('a')
    await pass(20)
    const closing = usage.close()
    await turn()
    respond = async () => []
    fail()
    await closing
    assert.deepEqual(ids(), [['a'], ['a']])
  })

  it('retries locked rows when closed and gives up when every retry fails', async () => {
    respond = async (uses) => (writes.length < 2 ? uses.map(({ id }) => id) : [])
    usage.used('a')
    const closing = usage.close()
    await turn()
    await pass(100)
    await closing
    assert.deepEqual([writes.length, warnings], [2, []])

    respond = () => Promise.reject(new Unavailable())
    const other = createUsageBuffer({ touch: (uses) => respond(uses) }, clock, {
      info() {},
      warn: (...warning) => void warnings.push([warning[0], warning[1]]),
      error() {},
    })
    other.used('b')
    const ending = other.close()
    for (let tries = 0; tries < 3; tries++) {
      await turn()
      await pass(100)
    }
    await ending
    assert.deepEqual(warnings.at(-1), ['token_usage.lost', { detail: '1 last uses' }])
  })
})
