import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decoyCosts, decoyHash, hashPrefix } from '../../../src/adapters/bcrypt/decoys.ts'
import { isWholePasswordHash } from '../../../src/domain/password.ts'

describe('The work of a verification', () => {
  const work = (costs: readonly number[]) => costs.reduce((sum, cost) => sum + 2 ** cost, 0)

  // Public case 065
  it('is that of the configured cost for every stored hash of at most that cost', () => {
    for (let cost = 4; cost <= 15; cost++) {
      for (let stored = 4; stored <= cost; stored++) {
        const decoys = decoyCosts(stored, cost)
        const lacking = 2 ** cost - 2 ** stored - work(decoys)
        // Nothing, or the lowest decoy where as many calls as there are take as long as that.
        assert.ok(
          lacking === 0 || (lacking === 2 ** stored && lacking < 4 * (cost - stored)),
          `${stored} of ${cost}`,
        )
        if (cost >= 10)
          assert.ok(Math.abs(lacking - 4 * decoys.length) < 0.02 * 2 ** cost, `${stored} of ${cost}`)
        assert.ok(decoys.every((decoy) => decoy >= 4 && decoy < cost))
      }
    }
  })

  it('is that of the configured cost when there is no hash', () => {
    for (let cost = 4; cost <= 15; cost++) assert.deepEqual(decoyCosts(null, cost), [cost])
  })

  it('is not padded when the stored hash has a higher cost', () => {
    for (let cost = 4; cost <= 15; cost++) {
      for (let stored = cost; stored <= 15; stored++) assert.deepEqual(decoyCosts(stored, cost), [])
    }
  })

  it('is that of a complete hash, which bcrypt does not reject at once', () => {
    for (let cost = 4; cost <= 15; cost++) {
      assert.ok(isWholePasswordHash(decoyHash(cost)))
      assert.equal(hashPrefix(cost), `$2b$${String(cost).padStart(2, '0')}$`)
      assert.ok(decoyHash(cost).startsWith(hashPrefix(cost)))
    }
  })
})
