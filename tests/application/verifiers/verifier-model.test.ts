import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { PRODUCTION_PARTS } from '../../support/cluster-model/parts.ts'
import { targetedVerifierProperty, verifierProperty } from '../../support/cluster-model/property.ts'

// The proof's row G16 has more runs, and finds a mutant for each rule; SEED_G16 repeats failed runs.
const RUNS = Number(process.env.RUNS_G16 ?? 200)
const SEED = process.env.SEED_G16 === undefined ? {} : { seed: Number(process.env.SEED_G16) }

describe('row G16: a revocation is exact on verifiers in other processes', () => {
  it('holds across all faults', async (t) => {
    const tally = { verified: 0, hits: 0, afterAcknowledgement: 0, afterAcknowledgementWithLease: 0 }
    const options = { numRuns: RUNS, endOnFailure: true, ...SEED }
    await fc.assert(verifierProperty(PRODUCTION_PARTS, tally), options)
    await fc.assert(targetedVerifierProperty(PRODUCTION_PARTS, tally), options)
    t.diagnostic(`G16: ${RUNS} runs, 0 wrong results: ${JSON.stringify(tally)}`)
    // The events of the property must have occurred, and often.
    assert.ok(tally.hits > RUNS, 'too few hits')
    assert.ok(tally.afterAcknowledgement > 10 * RUNS, 'too few began after an acknowledgement')
    assert.ok(tally.afterAcknowledgementWithLease > 3 * RUNS, 'too few of these met a lease')
  })
})
