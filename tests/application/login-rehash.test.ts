import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { STORE_TIMEOUT_MS } from '../../src/application/use-cases/use-cases.ts'
import { InvalidCredentials, Unavailable } from '../../src/domain/errors.ts'
import type { MovableClock } from '../../src/testing/movable-clock.ts'
import { type Core, memoryCore } from '../support/core.ts'
import { hashOf } from '../support/fakes.ts'

const login = (core: Core, email: string, password = 'right') =>
  core.login({ email, password }, core.deadline())

describe('A login with a dated hash', () => {
  const NEW = 'new hash of right'

  /** A core with one customer, whose hash is dated. `hashed` records the hashed passwords. */
  async function withDated(replaced?: Parameters<typeof memoryCore>[0]) {
    const core = memoryCore(replaced)
    const { id, email } = await core.customer()
    const hashed: string[] = []
    core.passwords.dated.add(hashOf('right'))
    core.passwords.hash = async (password) => {
      hashed.push(password)
      return NEW
    }
    return { core, id, email, hashed, stored: () => core.store.customers.get(id)?.passwordHash }
  }

  it('renews the hash and keeps the issued token valid', async () => {
    const { core, email, hashed, stored } = await withDated()
    const { secret } = await login(core, email)
    assert.equal(stored(), NEW)
    assert.deepEqual(hashed, ['right'])
    await core.authenticate(secret, core.deadline())
  })

  it('does not renew a current hash', async () => {
    const { core, hashed } = await withDated()
    const { email } = await core.customer({}, 'other')
    await login(core, email, 'other')
    assert.deepEqual(hashed, [])
  })

  it('does not renew the hash after a wrong password or for a disabled customer', async () => {
    const { core, id, email, hashed, stored } = await withDated()
    await assert.rejects(login(core, email, 'wrong'), InvalidCredentials)
    await core.ports.customers.disable(id, 1, 1000)
    await assert.rejects(login(core, email), InvalidCredentials)
    assert.deepEqual(hashed, [])
    assert.equal(stored(), hashOf('right'))
  })

  it('renews the hash once in parallel logins, which all succeed', async () => {
    const { core, email, stored } = await withDated()
    const verify = core.passwords.verify
    core.passwords.verify = async (password, hash) =>
      (await verify(password, hash)) || (password === 'right' && hash === NEW)
    let renewed = 0
    const { rehash } = core.ports.customers
    core.ports.customers.rehash = async (...args) => {
      const done = await rehash(...args)
      if (done) renewed++
      return done
    }
    await Promise.all([1, 2, 3, 4].map(() => login(core, email)))
    await login(core, email)
    assert.equal(renewed, 1)
    assert.equal(stored(), NEW)
  })

  it('does not overwrite a password that changed during the hashing', async () => {
    const { core, id, email, stored } = await withDated()
    core.passwords.hash = async () => {
      await core.ports.customers.setPasswordHash(id, hashOf('changed'), 1, 1000)
      return NEW
    }
    await login(core, email)
    assert.equal(stored(), hashOf('changed'))
  })

  for (const [what, rehash] of [
    ['refuses the new hash', async () => false],
    ['cannot be reached', async () => reject()],
    ['throws synchronously', () => reject()],
    [
      'is read-only',
      async () => {
        throw new Error('read-only')
      },
    ],
  ] as const) {
    it(`succeeds even if the store ${what}`, async () => {
      const { core, email, stored } = await withDated(({ customers }) => ({
        customers: { ...customers, rehash },
      }))
      const { secret } = await login(core, email)
      await core.authenticate(secret, core.deadline())
      assert.equal(stored(), hashOf('right'))
    })
  }

  it('succeeds even if the password cannot be hashed', async () => {
    const { core, email, stored } = await withDated()
    core.passwords.hash = async () => {
      throw new Error('gone')
    }
    await login(core, email)
    assert.equal(stored(), hashOf('right'))
  })

  it('renews the hash even if the request used up its store deadline', async () => {
    const { core, email, stored } = await withDated(({ loginTokens, clock }) => ({
      loginTokens: {
        ...loginTokens,
        async replace(change, timeoutMs) {
          const revoked = await loginTokens.replace(change, timeoutMs)
          ;(clock as MovableClock).advance(STORE_TIMEOUT_MS)
          return revoked
        },
      },
    }))
    await login(core, email)
    assert.equal(stored(), NEW)
  })
})

function reject(): never {
  throw new Unavailable()
}
