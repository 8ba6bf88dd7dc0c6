import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryLoginThrottle } from '../../src/adapters/memory/login-throttle.ts'
import type { HashingRequest } from '../../src/application/ports/password-hasher.ts'
import type { Ports } from '../../src/application/ports/ports.ts'
import { InvalidCredentials, Unavailable } from '../../src/domain/errors.ts'
import { type Core, memoryCore } from '../support/core.ts'
import { hashOf, turn } from '../support/fakes.ts'
import { aRequester } from '../support/idle-ports.ts'

const login = (core: Core, email: string, password = 'right') =>
  core.login({ email, password }, core.deadline())

describe('The slot of a login in the hashing queue', () => {
  /** A core that counts the slots requested and held. */
  function createCountedCore(replaced: Parameters<typeof memoryCore>[0] = () => ({})) {
    const slots = { requested: 0, held: 0 }
    const core = memoryCore((ports) => ({
      passwords: {
        ...ports.passwords,
        isDated: () => true,
        hash: () => assert.fail('hashed without a slot'),
        queue() {
          slots.requested++
          slots.held++
          return {
            hash: () => core.passwords.hash(''),
            rehash: () => core.passwords.hash(''),
            verify: (password, hash) => core.passwords.verify(password, hash),
            leave() {
              slots.held--
            },
          }
        },
      },
      ...replaced(ports),
    }))
    return { core, slots }
  }

  it('is released after a success, once the hash is renewed', async () => {
    const { core, slots } = createCountedCore()
    const { id, email } = await core.customer()
    let heldDuringRehash = 0
    core.passwords.hash = async () => {
      await turn()
      heldDuringRehash = slots.held
      return 'renewed'
    }
    await login(core, email)
    assert.equal(core.store.customers.get(id)?.passwordHash, 'renewed')
    assert.equal(heldDuringRehash, 1)
    assert.deepEqual(slots, { requested: 1, held: 0 })
  })

  it('serves all verifications of a login', async () => {
    const { core, slots } = createCountedCore()
    const { id, email } = await core.customer()
    core.passwords.whileVerifying = (count) =>
      count === 1 ? core.ports.customers.setPasswordHash(id, hashOf('new'), 1, 1000) : null
    await assert.rejects(login(core, email), InvalidCredentials)
    assert.equal(core.passwords.verified.length, 2)
    assert.deepEqual(slots, { requested: 1, held: 0 })
  })

  for (const [what, replaced, fault] of [
    ['a wrong password', () => ({}), { verify: async () => false }],
    ['a cancelled verification', () => ({}), { verify: async () => reject() }],
    ['a failed rehash', () => ({}), { hash: async () => reject() }],
    [
      'a failed lookup',
      ({ customers }: Ports) => ({ customers: { ...customers, findByEmail: async () => reject() } }),
      {},
    ],
    [
      'a failed change',
      ({ loginTokens }: Ports) => ({ loginTokens: { ...loginTokens, replace: async () => reject() } }),
      {},
    ],
  ] as const) {
    it(`is released after ${what}`, async () => {
      const { core, slots } = createCountedCore(replaced)
      const { email } = await core.customer()
      Object.assign(core.passwords, fault)
      await login(core, email).catch(() => {})
      assert.deepEqual(slots, { requested: 1, held: 0 })
    })
  }

  it('is refused with Unavailable when the queue is full, before any lookup, and the throttle slot is released', async () => {
    let isFull = true
    let lookups = 0
    const core = memoryCore(
      ({ passwords, customers }) => ({
        passwords: {
          ...passwords,
          hasRoom: () => !isFull,
        },
        customers: {
          ...customers,
          findByEmail(...args) {
            lookups++
            return customers.findByEmail(...args)
          },
        },
      }),
      { loginLimitAccount: { failures: 1, windowMs: 1000 } },
    )
    const { email } = await core.customer()
    for (let round = 0; round < 3; round++) await assert.rejects(login(core, email), Unavailable)
    assert.equal(lookups, 0)
    isFull = false
    await login(core, email)
  })

  it('is requested for the network, the account and the signal of the requester', async () => {
    const requests: HashingRequest[] = []
    const core = memoryCore(({ passwords }) => ({
      passwords: {
        ...passwords,
        queue(request) {
          requests.push(request)
          return passwords.queue(request)
        },
      },
    }))
    const { email } = await core.customer({ email: 'Ana@example.com' })
    for (const [address, source] of [
      ['192.0.2.1', '192.0.2.1'],
      ['2001:db8:7:1::/64', '2001:db8:7::/48'],
    ] as const) {
      const { signal, ...requester } = aRequester({ address })
      await core.login({ email, password: 'right' }, core.deadline(), { ...requester, signal })
      assert.deepEqual(requests.at(-1), { source, account: 'ana@example.com', isKnown: false, signal })
    }
  })

  it('is requested as known where the throttle knows the account', async () => {
    const known: boolean[] = []
    const core = memoryCore(({ passwords, clock }) => ({
      throttle: memoryLoginThrottle({ loginLimitAccount: null, loginLimitAddress: null }, clock),
      passwords: {
        ...passwords,
        queue(request) {
          known.push(request.isKnown)
          return passwords.queue(request)
        },
      },
    }))
    const { email } = await core.customer()
    for (let round = 0; round < 2; round++) await login(core, email)
    assert.deepEqual(known, [false, true])
  })
})

function reject(): never {
  throw new Unavailable()
}
