import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { MISTAKES, sketchOfCache } from '../../mutants/caching.ts'
import { cachedInvalidating, newTally, revocationProperty } from '../../support/revocation-model.ts'

// The proof's row G1 has more runs; REVOCATION_SEED repeats a failed run.
const RUNS = 300
const SEED = process.env.REVOCATION_SEED === undefined ? {} : { seed: Number(process.env.REVOCATION_SEED) }
const MUTANT_RUNS = 200

describe('In every interleaving a revocation', () => {
  it('is exact with the production cache', async (t) => {
    const tally = newTally()
    await fc.assert(revocationProperty(cachedInvalidating, tally), { numRuns: RUNS, ...SEED })
    t.diagnostic(`${RUNS} interleavings, 0 wrong results: ${JSON.stringify(tally)}`)
    // The events of the property must have occurred, and often.
    assert.ok(tally.accepted > RUNS, 'too few were accepted')
    assert.ok(tally.refused > RUNS / 2, 'too few were refused')
    assert.ok(tally.hits > RUNS / 2, 'too few cache hits')
    assert.ok(tally.afterAcknowledgement > RUNS / 2, 'too few began after an acknowledgement')
    assert.ok(tally.unavailable > RUNS / 20, 'too few met a fault')
  })

  it('is exact with the simplified cache on which the mutants are based', async () => {
    await fc.assert(revocationProperty(sketchOfCache(null)), { numRuns: MUTANT_RUNS, ...SEED })
  })

  for (const mistake of MISTAKES) {
    it(`is found to be inexact within ${MUTANT_RUNS} runs with a cache that ${mistake}`, async (t) => {
      // A fixed seed: with random runs, a few in a thousand would not find one of the mutants.
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
