import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { Unavailable } from '../domain/errors.ts'

/** Ends what the call that returned it has begun. */
export type Release = () => Promise<void>

/** The timeout of a call to a store that does not respond, in milliseconds. */
const TIMEOUT_MS = 250
/** A call that takes this long ignores its timeout: no machine is so busy. */
const ENDLESS_MS = 10_000
const UNAVAILABLE = 'rejects with Unavailable'

/** Calls of a store by the names of its methods, each with a timeout in milliseconds. */
export type Calls = Readonly<Record<string, (timeoutMs: number) => unknown>>

/** Asserts that every call rejects with `Unavailable` at its timeout. */
export async function assertUnavailable(calls: Calls): Promise<void> {
  const outcomes = await Promise.all(
    Object.entries(calls).map(async ([name, call]) => [name, await findOutcome(call)]),
  )
  const expected = Object.keys(calls).map((name) => [name, UNAVAILABLE])
  assert.deepEqual(Object.fromEntries(outcomes), Object.fromEntries(expected))
}

/** Asserts that one call of a store that responds again succeeds; earlier ones may find only lost connections. */
export async function assertRecovers(call: (timeoutMs: number) => unknown): Promise<void> {
  let failure: unknown
  for (const endMs = performance.now() + ENDLESS_MS; performance.now() < endMs; await sleep(20)) {
    try {
      await call(TIMEOUT_MS)
      return
    } catch (error) {
      failure = error
    }
  }
  assert.fail(`It still rejects after ${ENDLESS_MS} ms: ${inspect(failure)}`)
}

async function findOutcome(call: (timeoutMs: number) => unknown): Promise<string> {
  const waiting = new AbortController()
  const endless = sleep(ENDLESS_MS, `still waits after ${ENDLESS_MS} ms`, { signal: waiting.signal })
  const ended = (async () => call(TIMEOUT_MS))().then(
    (value) => `returns ${inspect(value)}`,
    (error) => (error instanceof Unavailable ? UNAVAILABLE : `rejects with ${inspect(error)}`),
  )
  try {
    return await Promise.race([ended, endless])
  } finally {
    endless.catch(() => {})
    waiting.abort()
  }
}
