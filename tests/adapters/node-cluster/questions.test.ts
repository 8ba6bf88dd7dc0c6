import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Questions, questions } from '../../../src/adapters/node-cluster/questions.ts'
import { Unavailable } from '../../../src/domain/errors.ts'

/** Two connected sides whose messages arrive asynchronously, as copies. */
function pair(responses: Record<string, () => Promise<unknown>>): { asker: Questions; sent: object[] } {
  const sent: object[] = []
  const deliver = (to: () => Questions) => (message: object) => {
    sent.push(message)
    setImmediate().then(() => to().receive(structuredClone(message)))
  }
  const asker = questions(
    deliver(() => other),
    async () => 'no question is sent to this side',
  )
  const other = questions(
    deliver(() => asker),
    async (question) => responses[question]?.(),
  )
  return { asker, sent }
}

describe('Questions between processes', () => {
  test('are each resolved with their own response, in any order of the responses', async () => {
    const late = withResolvers()
    const { asker } = pair({ slow: () => late.promise, quick: async () => ({ n: 1 }) })
    const slow = asker.ask('slow')
    assert.deepEqual(await asker.ask('quick'), { n: 1 })
    late.resolve('at last')
    assert.equal(await slow, 'at last')
  })

  test('are rejected after two seconds when the other side fails, and a late response is ignored', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { asker } = pair({
      failing: async () => {
        throw new Error('it cannot')
      },
    })
    const asked = asker.ask('failing')
    let isSettled = false
    const settled = asked
      .catch((error) => error)
      .finally(() => {
        isSettled = true
      })
    for (let turn = 0; turn < 5; turn++) await setImmediate()
    t.mock.timers.tick(1999)
    await setImmediate()
    assert.equal(isSettled, false)
    t.mock.timers.tick(1)
    assert.ok((await settled) instanceof Unavailable)
    asker.receive({ reply: 'late', n: 1 })
  })

  test('ignore messages of other kinds', () => {
    const { asker, sent } = pair({})
    for (const message of [null, undefined, 'question', 7, { kind: 'other' }]) asker.receive(message)
    assert.deepEqual(sent, [])
  })
})

function withResolvers(): { promise: Promise<unknown>; resolve(value: unknown): void } {
  let resolve: (value: unknown) => void = () => {}
  const promise = new Promise((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
