import assert from 'node:assert/strict'
import type { LoginTokens } from '../../application/ports/login-tokens.ts'
import type { TokenUsage } from '../../application/ports/token-usage.ts'
import { type MovableClock, movableClock } from '../movable-clock.ts'
import { type TestRunner, withTimeout } from '../runner.ts'

/** A recorder of uses, and a function that resolves once its uses are written. */
export interface SettlingUsage {
  readonly usage: TokenUsage
  settle(): Promise<void>
}

/**
 * The contract of `TokenUsage`: a use is written at its time to the tokens, and a failure of the tokens does not reach
 * the request. `create` returns a recorder that writes by `touch` and reads the time from the clock; it is called for each
 * test. Takes as long as `settle`.
 */
export function tokenUsageContract(
  name: string,
  create: (tokens: Pick<LoginTokens, 'touch'>, clock: MovableClock) => SettlingUsage,
  runner?: TestRunner,
): void {
  const { describe, it } = withTimeout(runner)
  describe(`${name} keeps the contract of TokenUsage:`, () => {
    it('the last use of each token is written with its time', async () => {
      const clock = movableClock()
      const written = new Map<string, number>()
      const { usage, settle } = create({ touch: async (uses) => write(written, uses) }, clock)
      usage.used('a')
      usage.used('b')
      clock.advance(1)
      usage.used('a')
      const atMs = clock.nowMs()
      await settle()
      assert.deepEqual([...written].toSorted(), [
        ['a', atMs],
        ['b', atMs - 1],
      ])
    })

    it('a use returns at once and does not fail with the store', async () => {
      const { usage, settle } = create({ touch: () => Promise.reject(new Error('no store')) }, movableClock())
      for (let count = 0; count < 10_000; count++) assert.equal(usage.used(`token ${count % 100}`), undefined)
      await settle()
    })
  })
}

function write(written: Map<string, number>, uses: Parameters<LoginTokens['touch']>[0]): readonly string[] {
  for (const { id, atMs } of uses) written.set(id, Math.max(atMs, written.get(id) ?? atMs))
  return []
}
