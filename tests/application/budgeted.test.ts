import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { budgetedLoginTokens } from '../../src/application/budgeted.ts'
import type { LoginTokens } from '../../src/application/ports/login-tokens.ts'
import { Unavailable } from '../../src/domain/errors.ts'
import type { OwnedToken } from '../../src/domain/login-token.ts'
import { aCustomer, aLoginToken } from '../../src/testing/builders.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { countedTimers, turn } from '../support/fakes.ts'
import { aRequester } from '../support/idle-ports.ts'

const customer = aCustomer()
const owned: OwnedToken = { token: aLoginToken({ customerId: customer.id }), customer }

/** A store that knows one token, `known`, and is slow when it is told to be. */
function budgeted() {
  const clock = countedTimers(movableClock())
  const found: string[] = []
  const waits: number[] = []
  let failing = false
  const inner = {
    findByDigest: async (digest: string, waitMs: number) => {
      found.push(digest)
      waits.push(waitMs)
      if (failing) throw new Unavailable()
      return digest === 'known' ? owned : null
    },
  } as unknown as LoginTokens
  const tokens = budgetedLoginTokens(inner, clock)
  const ask = (digest: string, requester: ReturnType<typeof aRequester> | undefined = aRequester()) =>
    Promise.resolve(tokens.findByDigest(digest, 1000, requester))
  return {
    clock,
    found,
    waits,
    tokens,
    ask,
    fail: (fails: boolean) => {
      failing = fails
    },
    async present(times: number, address = '127.0.0.1') {
      for (let i = 0; i < times; i++) await ask('unknown', aRequester({ address }))
    },
    /** Lets time pass in steps, as a clock does. */
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 10) {
        await turn()
        clock.advance(10)
      }
      await turn()
    },
  }
}

describe('The budget of unknown look-ups', () => {
  it('sends the look-ups of a calm address in the call, and answers what the store answers', async () => {
    const { ask, found, waits } = budgeted()
    const asking = [ask('known'), ask('unknown')]
    assert.deepEqual(found, ['known', 'unknown'])
    assert.deepEqual(waits, [1000, 1000])
    assert.deepEqual(await Promise.all(asking), [owned, null])
  })

  it('answers at once where the store does', () => {
    const inner = { findByDigest: () => owned } as unknown as LoginTokens
    assert.equal(budgetedLoginTokens(inner, movableClock()).findByDigest('known', 1, aRequester()), owned)
  })

  it('lets an address present 100 unknown tokens at once, and 20 a second after them', async () => {
    const { ask, present, pass, found } = budgeted()
    await present(100)
    const late = Array.from({ length: 15 }, () => ask('unknown'))
    await turn()
    assert.equal(found.length, 100)
    await pass(500)
    assert.equal(found.length, 110)
    await pass(500)
    assert.equal(found.length, 115)
    assert.deepEqual(await Promise.all(late), Array(15).fill(null))
  })

  it('makes known tokens wait where nothing is left, and takes nothing for them', async () => {
    const { ask, present, pass, found, waits } = budgeted()
    await present(100)
    const known = Array.from({ length: 10 }, () => ask('known'))
    await turn()
    assert.equal(found.length, 100)
    await pass(60)
    // The first hands what it was given on to the next, and so forth.
    assert.deepEqual(await Promise.all(known), Array(10).fill(owned))
    assert.ok((waits.at(-1) ?? 0) <= 950)
  })

  it('leaves an address calm that presents known tokens, however many at once', async () => {
    const { ask, found } = budgeted()
    await Promise.all(Array.from({ length: 500 }, () => ask('known')))
    const more = [ask('known'), ask('unknown')]
    assert.equal(found.length, 502)
    await Promise.all(more)
  })

  it('is not used up by known tokens, nor by look-ups that fail', async () => {
    const { ask, present, fail, found } = budgeted()
    await present(50)
    for (let i = 0; i < 200; i++) await ask('known')
    fail(true)
    for (let i = 0; i < 200; i++) await assert.rejects(ask('unknown'), Unavailable)
    fail(false)
    await present(50)
    assert.equal(found.length, 500)
    void ask('unknown').catch(() => {})
    await turn()
    assert.equal(found.length, 500)
  })

  it('refuses who would have to wait for longer, at once where too many do', async () => {
    const { ask, present, pass } = budgeted()
    await present(100)
    const waiting = Promise.allSettled(Array.from({ length: 20 }, () => ask('unknown')))
    await assert.rejects(ask('known'), Unavailable)
    await pass(1000)
    assert.ok((await waiting).filter(({ status }) => status === 'fulfilled').length >= 19)
  })

  it('refuses after the time that was asked for, when nothing was left by then', async () => {
    const { tokens, ask, clock, found } = budgeted()
    // All sent before the first answer came: so far behind can nobody be for more than five seconds.
    await Promise.all(Array.from({ length: 500 }, () => ask('unknown')))
    const late = tokens.findByDigest('known', 400, aRequester())
    clock.advance(400)
    await assert.rejects(Promise.resolve(late), Unavailable)
    assert.equal(found.length, 500)
    clock.advance(4700)
    assert.equal(await ask('known'), owned)
  })

  it('is an affair of one address: others notice nothing', async () => {
    const { ask, present, found } = budgeted()
    await present(100)
    const other = ask('unknown', aRequester({ address: '192.0.2.9' }))
    assert.equal(found.length, 101)
    await other
  })

  it('asks nobody who is not known', async () => {
    const { tokens, found } = budgeted()
    for (let i = 0; i < 150; i++) await tokens.findByDigest('unknown', 1000)
    assert.equal(found.length, 150)
  })

  it('is whole again after five calm seconds', async () => {
    const { ask, present, clock, found } = budgeted()
    await present(100)
    clock.advance(5000)
    await present(100)
    void ask('unknown').catch(() => {})
    assert.equal(found.length, 200)
  })

  it('looks up also where the client went away: others may have joined it', async () => {
    const { ask, present, pass, found } = budgeted()
    await present(100)
    const gone = new AbortController()
    const left = ask('unknown', aRequester({ signal: gone.signal }))
    gone.abort(new Error('gone'))
    await pass(100)
    assert.equal(await left, null)
    assert.equal(found.length, 101)
  })

  it('leaves no timer behind when nobody waits any more', async () => {
    const { ask, present, clock } = budgeted()
    await present(100)
    const left = ask('unknown')
    assert.ok(clock.timers() > 0)
    clock.advance(1000)
    await assert.rejects(left, Unavailable)
    assert.equal(clock.timers(), 0)
  })

  it('remembers 10,000 addresses, and forgets the oldest first', async () => {
    const { ask, present, found } = budgeted()
    await present(100, 'oldest')
    await present(100, 'second')
    for (let i = 0; i < 9999; i++) await present(1, `address ${i}`)
    const before = found.length
    const asking = [
      ask('unknown', aRequester({ address: 'second' })),
      ask('unknown', aRequester({ address: 'oldest' })),
    ]
    assert.equal(found.length, before + 1)
    for (const answer of asking) answer.catch(() => {})
  })
})
