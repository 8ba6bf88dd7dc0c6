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

  /** A core whose one customer has a dated hash; remembers what was hashed. */
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

  it('leaves a new hash of the same password, and the token that it has handed out', async () => {
    const { core, email, hashed, stored } = await withDated()
    const { secret } = await login(core, email)
    assert.equal(stored(), NEW)
    assert.deepEqual(hashed, ['right'])
    await core.authenticate(secret, core.deadline())
  })

  it('renews no hash that is as new ones are', async () => {
    const { core, hashed } = await withDated()
    const { email } = await core.customer({}, 'other')
    await login(core, email, 'other')
    assert.deepEqual(hashed, [])
  })

  it('renews nothing where the password is wrong or the customer may not log in', async () => {
    const { core, id, email, hashed, stored } = await withDated()
    await assert.rejects(login(core, email, 'wrong'), InvalidCredentials)
    await core.ports.customers.disable(id, 1, 1000)
    await assert.rejects(login(core, email), InvalidCredentials)
    assert.deepEqual(hashed, [])
    assert.equal(stored(), hashOf('right'))
  })

  it('renews it once, of several at the same time; all of them succeed', async () => {
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

  it('puts no password back that was changed while it was hashed', async () => {
    const { core, id, email, stored } = await withDated()
    core.passwords.hash = async () => {
      await core.ports.customers.setPasswordHash(id, hashOf('changed'), 1, 1000)
      return NEW
    }
    await login(core, email)
    assert.equal(stored(), hashOf('changed'))
  })

  for (const [what, rehash] of [
    ['refuses', async () => false],
    ['cannot be reached', async () => reject()],
    ['throws at once', () => reject()],
    [
      'may not be written',
      async () => {
        throw new Error('read-only')
      },
    ],
  ] as const) {
    it(`succeeds though the store ${what}`, async () => {
      const { core, email, stored } = await withDated(({ customers }) => ({
        customers: { ...customers, rehash },
      }))
      const { secret } = await login(core, email)
      await core.authenticate(secret, core.deadline())
      assert.equal(stored(), hashOf('right'))
    })
  }

  it('succeeds though the password could not be hashed', async () => {
    const { core, email, stored } = await withDated()
    core.passwords.hash = async () => {
      throw new Error('gone')
    }
    await login(core, email)
    assert.equal(stored(), hashOf('right'))
  })

  it('renews the hash even when the other stores have used up the time of the request', async () => {
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
