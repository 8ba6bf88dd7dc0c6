import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hash, verify } from '@node-rs/bcrypt'
import { bcryptPasswordHasher, decoyCosts, decoyOf } from '../../../src/adapters/bcrypt/password-hasher.ts'
import { isWholePasswordHash } from '../../../src/domain/password.ts'
import { passwordHasherContract } from '../../contracts/password-hasher.ts'

passwordHasherContract('bcrypt', (cost) => bcryptPasswordHasher({ cost }))

describe('The work of a verification', () => {
  const work = (costs: readonly number[]) => costs.reduce((sum, cost) => sum + 2 ** cost, 0)

  it('case 065: is that of the configured cost, whatever cheaper or equal cost the stored hash has', () => {
    for (let cost = 4; cost <= 15; cost++) {
      for (let stored = 4; stored <= cost; stored++) {
        const decoys = decoyCosts(stored, cost)
        assert.equal(2 ** stored + work(decoys), 2 ** cost, `${stored} of ${cost}`)
        assert.ok(decoys.every((decoy) => decoy >= 4 && decoy < cost))
      }
    }
  })

  it('is that of the configured cost where there is no hash', () => {
    for (let cost = 4; cost <= 15; cost++) assert.deepEqual(decoyCosts(null, cost), [cost])
  })

  it('is not added to where the stored hash is dearer', () => {
    for (let cost = 4; cost <= 15; cost++) {
      for (let stored = cost; stored <= 15; stored++) assert.deepEqual(decoyCosts(stored, cost), [])
    }
  })

  it('is really done for a decoy: a whole hash that bcrypt does not refuse at once', async () => {
    for (let cost = 4; cost <= 15; cost++) {
      assert.ok(isWholePasswordHash(decoyOf(cost)))
      assert.equal(decoyOf(cost).slice(0, 7), `$2b$${String(cost).padStart(2, '0')}$`)
    }
    const real = await hash('password', 8)
    const realMs = await fastestMs(() => verify('wrong', real))
    const decoyMs = await fastestMs(() => verify('wrong', decoyOf(8)))
    // A hash refused at once answers in a hundredth of the time; the machine's noise stays far below a third.
    assert.ok(decoyMs > realMs / 3, `${decoyMs} ms against ${realMs} ms`)
  })

  it('case 065: is really done for an unknown e-mail, a damaged hash and a cheaper one', async () => {
    const passwords = bcryptPasswordHasher({ cost: 8 })
    const real = await hash('password', 8)
    const cheap = await hash('password', 4)
    const realMs = await fastestMs(() => passwords.verify('wrong', real))
    for (const [what, stored] of [
      ['unknown', null],
      ['damaged', `${real} `],
      ['cheaper', cheap],
    ] as const) {
      const ms = await fastestMs(() => passwords.verify('wrong', stored))
      assert.ok(ms > realMs / 3, `${what}: ${ms} ms against ${realMs} ms`)
    }
  })
})

async function fastestMs(call: () => Promise<unknown>): Promise<number> {
  let fastest = Infinity
  for (let round = 0; round < 8; round++) {
    const beganMs = performance.now()
    await call()
    fastest = Math.min(fastest, performance.now() - beganMs)
  }
  return fastest
}
