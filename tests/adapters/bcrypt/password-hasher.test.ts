import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hash, verify } from '@node-rs/bcrypt'
import { decoyCosts, decoyHash } from '../../../src/adapters/bcrypt/decoys.ts'
import { bcryptPasswordHasher } from '../../../src/adapters/bcrypt/password-hasher.ts'
import type { HashingSlot } from '../../../src/application/ports/password-hasher.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { isWholePasswordHash } from '../../../src/domain/password.ts'
import { passwordHasherContract } from '../../../src/testing/contracts/password-hasher.ts'
import { watchBcrypt } from '../../support/bcrypt-work.ts'
import { aHashingRequest } from '../../support/idle-ports.ts'

/** The length of the head of a hash: version, cost and salt. */
const HEAD_AND_SALT = 29

passwordHasherContract('bcrypt', (cost) => bcryptPasswordHasher({ cost, concurrency: 2 }))

describe('Hashing by bcrypt', () => {
  const someHash = decoyHash(6)

  it('is refused at once when the queue needs two seconds, and accepted after its slots are released', async () => {
    // Of cost 10, of which each is expected to need 51.2 ms of two threads.
    const passwords = bcryptPasswordHasher({ cost: 10, concurrency: 2 })
    const slots = Array.from({ length: 79 }, () => passwords.queue(aHashingRequest()))
    assert.throws(() => passwords.queue(aHashingRequest()), Unavailable)
    for (const slot of slots) slot.leave()
    passwords.queue(aHashingRequest()).leave()
  })

  it('learns the number of slots from the durations of verifications', async () => {
    const passwords = bcryptPasswordHasher({ cost: 6 })
    const placesNow = () => {
      const slots: HashingSlot[] = []
      try {
        while (slots.length < 100_000) slots.push(passwords.queue(aHashingRequest()))
      } catch {}
      for (const slot of slots) slot.leave()
      return slots.length
    }
    const expected = placesNow()
    assert.equal(expected, Math.floor(2000 / (0.05 * 2 ** 6)) + 1)
    const dear = decoyHash(9)
    for (let round = 0; round < 5; round++) {
      const slot = passwords.queue(aHashingRequest())
      await slot.verify('wrong', dear)
      slot.leave()
    }
    assert.ok(placesNow() < expected * 0.8, `${placesNow()} of ${expected}`)
  })

  it('holds one thread for a whole verification, so that no waiting task runs between the hash and its decoys', async () => {
    const passwords = bcryptPasswordHasher({ cost: 8 })
    const order: string[] = []
    await Promise.all([
      passwords
        .queue(aHashingRequest())
        .verify('wrong', decoyHash(4))
        .then(() => order.push('first')),
      passwords
        .queue(aHashingRequest())
        .verify('wrong', decoyHash(8))
        .then(() => order.push('second')),
      passwords.hash('password').then(() => order.push('third')),
    ])
    assert.equal(order[0], 'first')
  })

  it('reports a damaged hash once, and no other hash', async () => {
    let damaged = 0
    const passwords = bcryptPasswordHasher({ cost: 4, onDamaged: () => damaged++ })
    const slot = passwords.queue(aHashingRequest())
    for (const sound of [null, someHash, decoyHash(4), someHash.replace('$2b$', '$2y$')])
      await slot.verify('x', sound)
    assert.equal(damaged, 0)
    for (const [index, text] of ['', `${someHash} `, '5f4dcc3b5aa765d61d8327deb882cf99'].entries()) {
      assert.equal(await slot.verify('x', text), false)
      assert.equal(damaged, index + 1)
    }
  })
})

describe('The work of a verification', () => {
  it('is done for a decoy, which bcrypt does not reject at once', async () => {
    const decoy = decoyHash(8)
    assert.ok(isWholePasswordHash(decoy))
    // The same head and salt as those of a hash that bcrypt makes and takes; only what is compared at last differs.
    const alike = await hash('password', 8, Buffer.alloc(16))
    assert.equal(decoy.slice(0, HEAD_AND_SALT), alike.slice(0, HEAD_AND_SALT))
    assert.equal(await verify('password', alike), true)
    assert.equal(await verify('password', decoy), false)
  })

  // Public case 065
  it('is done for an unknown e-mail, a damaged hash and a cheaper one', async (t) => {
    const passwords = bcryptPasswordHasher({ cost: 8 }).queue(aHashingRequest())
    const real = await hash('password', 8)
    const cheap = await hash('password', 4)
    const work = watchBcrypt()
    t.after(() => work.stop())
    for (const [what, stored, count] of [
      ['right', real, 1],
      ['unknown', null, 1],
      ['damaged', `${real} `, 1],
      ['cheaper', cheap, 1 + decoyCosts(4, 8).length],
    ] as const) {
      const before = work.count()
      await passwords.verify('wrong', stored)
      assert.equal(work.count() - before, count, what)
    }
  })
})
