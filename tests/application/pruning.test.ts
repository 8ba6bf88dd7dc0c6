import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { type Prunable, type Pruning, startPruning } from '../../src/application/jobs/pruning.ts'
import type { LogFields } from '../../src/application/ports/log.ts'
import { Unavailable } from '../../src/domain/errors.ts'
import { type MovableClock, movableClock } from '../../src/testing/movable-clock.ts'
import { deferred, turn } from '../support/fakes.ts'

const TIMES = { firstMs: 1000, everyMs: 60_000, pauseMs: 100 }

let clock: MovableClock
let warnings: (readonly [string, LogFields | undefined])[]

beforeEach(() => {
  clock = movableClock()
  warnings = []
})

/** A prunable store with `count` expired rows. `steps` holds the number of rows that each step removed. */
function store(name: string, count: number) {
  const it = {
    name,
    left: count,
    steps: [] as number[],
    respond: (removed: number): Promise<number | null> => Promise.resolve(removed),
    prune(limit: number) {
      const removed = Math.min(limit, it.left)
      it.left -= removed
      it.steps.push(removed)
      return it.respond(removed)
    },
  }
  return it
}

function start(...prunables: Prunable[]): Pruning {
  const warn = (event: string, fields?: LogFields) => void warnings.push([event, fields])
  return startPruning(prunables, TIMES, clock, { info() {}, warn, error: warn })
}

async function pass(ms: number): Promise<void> {
  clock.advance(ms)
  await turn()
}

describe('Pruning', () => {
  it('starts after a delay and removes rows in steps with pauses until none are left', async () => {
    const tokens = store('tokens', 2500)
    start(tokens)
    await pass(999)
    assert.deepEqual(tokens.steps, [])
    await pass(1001)
    assert.deepEqual(tokens.steps, [1000])
    await pass(99)
    assert.equal(tokens.steps.length, 1)
    await pass(1)
    await pass(100)
    assert.deepEqual(tokens.steps, [1000, 1000, 500])
    await pass(10_000)
    assert.equal(tokens.steps.length, 3)
  })

  it('repeats every hour', async () => {
    const tokens = store('tokens', 0)
    start(tokens)
    await pass(2000)
    for (let rounds = 1; rounds < 5; rounds++) {
      assert.equal(tokens.steps.length, rounds)
      await pass(60_000)
    }
  })

  it('skips a round while another instance prunes', async () => {
    const tokens = store('tokens', 5000)
    tokens.respond = async () => null
    start(tokens)
    await pass(2000)
    await pass(30_000)
    assert.equal(tokens.steps.length, 1)
    await pass(30_000)
    assert.equal(tokens.steps.length, 2)
  })

  it('logs a failure once, prunes the other stores, and retries in the next round', async () => {
    const [tokens, attempts] = [store('tokens', 0), store('attempts', 0)]
    tokens.respond = () => Promise.reject(new Unavailable())
    start(tokens, attempts)
    await pass(2000)
    await pass(60_000)
    assert.deepEqual([tokens.steps.length, attempts.steps.length], [2, 2])
    assert.deepEqual(warnings, [['pruning.failed', { detail: 'tokens', error: 'Unavailable' }]])
    tokens.respond = async () => 0
    await pass(60_000)
    tokens.respond = () => Promise.reject(new Unavailable())
    await pass(60_000)
    assert.equal(warnings.length, 2)
  })

  it('stops before the first round, during a pause, and after the current step', async () => {
    const tokens = store('tokens', 10_000)
    await start(tokens).stop()
    await pass(100_000)
    assert.equal(tokens.steps.length, 0)

    const inPause = start(tokens)
    await pass(2000)
    await inPause.stop()
    await pass(100_000)
    assert.equal(tokens.steps.length, 1)

    const step = deferred<number | null>()
    tokens.respond = () => step.promise
    const inStep = start(tokens)
    await pass(2000)
    let isStopped = false
    const stopping = inStep.stop().then(() => {
      isStopped = true
    })
    await turn()
    assert.equal(isStopped, false)
    step.resolve(1000)
    await stopping
    await pass(100_000)
    assert.equal(tokens.steps.length, 2)
  })
})
