import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { cachedLoginTokens } from '../../../src/application/login-tokens/cached.ts'
import { MISTAKES, sketchOfCache } from '../../mutants/caching.ts'
import { newTally, revocationProperty } from '../../support/revocation-model.ts'

// The proof's row G1 has more; REVOCATION_SEED repeats a run that failed.
const RUNS = 300
const SEED = process.env.REVOCATION_SEED === undefined ? {} : { seed: Number(process.env.REVOCATION_SEED) }
const MUTANT_RUNS = 200

describe('In every interleaving a revocation is exact', () => {
  it('with the cache of the house', async (t) => {
    const tally = newTally()
    await fc.assert(revocationProperty(cachedLoginTokens, tally), { numRuns: RUNS, ...SEED })
    t.diagnostic(`${RUNS} interleavings, 0 wrong answers: ${JSON.stringify(tally)}`)
    // What the property speaks of must have happened, and often.
    assert.ok(tally.accepted > RUNS, 'too few were accepted')
    assert.ok(tally.refused > RUNS / 2, 'too few were refused')
    assert.ok(tally.hits > RUNS / 2, 'the cache answered too few')
    assert.ok(tally.afterAcknowledgement > RUNS / 2, 'too few began after an acknowledgement')
    assert.ok(tally.unavailable > RUNS / 20, 'too few met a fault')
  })

  it('with the sketch that the mistakes are made in', async () => {
    await fc.assert(revocationProperty(sketchOfCache(null)), { numRuns: MUTANT_RUNS, ...SEED })
  })

  for (const mistake of MISTAKES) {
    it(`but not with a cache that ${mistake}: that is found within ${MUTANT_RUNS} runs`, async (t) => {
      // The same runs each time: by chance one in thousands of others would miss one of the mistakes.
      const { failed, numRuns, errorInstance } = await fc.check(revocationProperty(sketchOfCache(mistake)), {
        numRuns: MUTANT_RUNS,
        seed: 20_261_128,
        endOnFailure: true,
        ...SEED,
      })
      assert.ok(failed, 'survived')
      assert.ok(errorInstance instanceof Error)
      assert.match(errorInstance.message, /^(accepted after|refused without) /)
      t.diagnostic(`run ${numRuns}: ${errorInstance.message}`)
    })
  }
})
