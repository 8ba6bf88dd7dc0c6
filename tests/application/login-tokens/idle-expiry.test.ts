import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DECISIVE_USES } from '../../../src/application/login-tokens/usage-buffer.ts'
import { simulateIdleExpiry } from '../../support/idle-simulation.ts'

/** More than an hour of the simulated clock would only repeat what the first half hour shows. */
const SIMULATION = { tokens: process.env.TEST_LONG === '1' ? 10_000 : 1000, steps: 1800 }

describe('Idle expiry', () => {
  it('rejects no token too early or too late on three instances, one of which is killed', async () => {
    const { violations, accepted, rejected } = await simulateIdleExpiry(SIMULATION)
    assert.deepEqual(violations, [])
    assert.ok(
      accepted > 5 * SIMULATION.tokens && rejected > SIMULATION.tokens / 10,
      `${accepted}, ${rejected}`,
    )
  })

  // Each of these broken forms must be found, or the simulation could not find a fault of the right one.
  for (const [form, broken] of Object.entries({
    'a buffer that drops uses when it is full': { policy: { ...DECISIVE_USES, maxEntries: 20 } },
    'a rest that leaves no time for the write': { policy: { ...DECISIVE_USES, everyMs: 120_000 } },
    'a rest in proportion to the number of uses': { policy: { ...DECISIVE_USES, everyMs: 240_000 } },
    'a write of each use': { policy: { ...DECISIVE_USES, everyMs: 20, minAdvanceMs: 1 } },
    'an idle time without its 60 seconds': { appliedTtlMs: 240_000 },
    // One rest in 240 ends within this second, so that fewer tokens might not show it.
    'an idle time that is too long': { appliedTtlMs: 301_000, tokens: 2000 },
  })) {
    it(`the simulation finds ${form}`, async () => {
      const { violations } = await simulateIdleExpiry({ tokens: 300, steps: 1800, ...broken })
      assert.ok(violations.length > 0, 'no violation')
    })
  }
})
