import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Ports } from '../../src/application/ports/ports.ts'
import { InvalidCredentials, Unavailable } from '../../src/domain/errors.ts'
import { type Core, memoryCore } from '../support/core.ts'
import { hashOf, turn } from '../support/fakes.ts'
import { aRequester } from '../support/idle-ports.ts'

const login = (core: Core, email: string, password = 'right') =>
  core.login({ email, password }, core.deadline())

describe('The place of a login in the queue', () => {
  /** A core that counts the places that are kept; each login asks once whether there is one, and then for its own. */
  function counted(replaced: Parameters<typeof memoryCore>[0] = () => ({})) {
    const places = { asked: 0, kept: 0 }
    const core = memoryCore((ports) => ({
      passwords: {
        ...ports.passwords,
        isDated: () => true,
        hash: () => assert.fail('without a place'),
        queue() {
          places.asked++
          places.kept++
          return {
            hash: () => core.passwords.hash(''),
            verify: (password, hash) => core.passwords.verify(password, hash),
            leave() {
              places.kept--
            },
          }
        },
      },
      ...replaced(ports),
    }))
    return { core, places }
  }

  it('is left after a success, and kept while the hash is renewed', async () => {
    const { core, places } = counted()
    const { id, email } = await core.customer()
    let keptAfterwards = 0
    core.passwords.hash = async () => {
      await turn()
      keptAfterwards = places.kept
      return 'renewed'
    }
    await login(core, email)
    assert.equal(core.store.customers.get(id)?.passwordHash, 'renewed')
    assert.equal(keptAfterwards, 1)
    assert.deepEqual(places, { asked: 2, kept: 0 })
  })

  it('is one for all verifications of a login', async () => {
    const { core, places } = counted()
    const { id, email } = await core.customer()
    core.passwords.whileVerifying = (count) =>
      count === 1 ? core.ports.customers.setPasswordHash(id, hashOf('new'), 1, 1000) : null
    await assert.rejects(login(core, email), InvalidCredentials)
    assert.equal(core.passwords.verified.length, 2)
    assert.deepEqual(places, { asked: 2, kept: 0 })
  })

  for (const [what, replaced, fault] of [
    ['a wrong password', () => ({}), { verify: async () => false }],
    ['a verification that was called off', () => ({}), { verify: async () => reject() }],
    ['a renewal that failed', () => ({}), { hash: async () => reject() }],
    [
      'a look-up that failed',
      ({ customers }: Ports) => ({ customers: { ...customers, findByEmail: async () => reject() } }),
      {},
    ],
    [
      'a change that failed',
      ({ loginTokens }: Ports) => ({ loginTokens: { ...loginTokens, replace: async () => reject() } }),
      {},
    ],
    [
      'a throttle that failed',
      ({ throttle }: Ports) => ({ throttle: { ...throttle, take: async () => reject() } }),
      {},
    ],
  ] as const) {
    it(`is left after ${what}`, async () => {
      const { core, places } = counted(replaced)
      const { email } = await core.customer()
      Object.assign(core.passwords, fault)
      await login(core, email).catch(() => {})
      assert.equal(places.kept, 0)
      assert.ok(places.asked > 0)
    })
  }

  it('is not there when too many are before: unavailable at once, with nothing looked up and the turn ended', async () => {
    let isFull = true
    let lookUps = 0
    const core = memoryCore(
      ({ passwords, customers }) => ({
        passwords: {
          ...passwords,
          queue(signal) {
            if (isFull) throw new Unavailable()
            return passwords.queue(signal)
          },
        },
        customers: {
          ...customers,
          findByEmail(...args) {
            lookUps++
            return customers.findByEmail(...args)
          },
        },
      }),
      { loginLimitAccount: { failures: 1, windowMs: 1000 } },
    )
    const { email } = await core.customer()
    for (let round = 0; round < 3; round++) await assert.rejects(login(core, email), Unavailable)
    assert.equal(lookUps, 0)
    isFull = false
    await login(core, email)
  })

  it('is asked for with the signal of whoever wants the answer', async () => {
    const signals: unknown[] = []
    const core = memoryCore(({ passwords }) => ({
      passwords: {
        ...passwords,
        queue(signal) {
          signals.push(signal)
          return passwords.queue(signal)
        },
      },
    }))
    const requester = aRequester()
    const { email } = await core.customer()
    await core.login({ email, password: 'right' }, core.deadline(), requester)
    assert.deepEqual(new Set(signals), new Set([requester.signal]))
  })
})

function reject(): never {
  throw new Unavailable()
}
