import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { NewPassword } from '../../src/application/management/hash-new-password.ts'
import type { Customers } from '../../src/application/ports/customers.ts'
import { InvalidCredentials, InvalidToken, Unavailable, ValidationFailed } from '../../src/domain/errors.ts'
import { type Core, memoryCore, unreachable } from '../support/core.ts'
import { hashOf } from '../support/fakes.ts'
import { aRequester } from '../support/idle-ports.ts'

const HASH = '$2b$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'
const WHOLE = 'Must be a whole bcrypt hash.'
const CONTROL = 'Must not contain control characters.'

const isRefusal = (field: string, sentence: string) => (error: unknown) => {
  assert.ok(error instanceof ValidationFailed)
  assert.deepEqual(error.errors, { [field]: [sentence] })
  return true
}
const add = (core: Core, different: Partial<Parameters<Core['customers']['add']>[0]> = {}) =>
  core.customers.add({ email: 'ana@example.com', name: null, password: null, ...different }, core.deadline())
const storedHash = async (core: Core, email: string) =>
  (await core.ports.customers.findByEmail(email, 1000))?.passwordHash

describe('Adding a customer', () => {
  it('stores the trimmed e-mail with a new id and creation time', async () => {
    const core = memoryCore()
    const customer = await add(core, { email: ' Ana@Example.com\n', name: 'Ana 🦊' })
    assert.ok(customer)
    assert.deepEqual(customer, {
      id: customer.id,
      email: 'Ana@Example.com',
      name: 'Ana 🦊',
      createdAtMs: core.clock.nowMs(),
      disabledAtMs: null,
    })
    assert.deepEqual(await core.customers.find('ana@example.COM', core.deadline()), customer)
  })

  it('stores a hashed password, a given hash, or no hash', async () => {
    const core = memoryCore()
    for (const [email, password, expected] of [
      ['a@example.com', { password: 'password' }, hashOf('password')],
      ['b@example.com', { passwordHash: HASH }, HASH],
      ['c@example.com', null, null],
    ] as const) {
      await add(core, { email, password })
      assert.equal(await storedHash(core, email), expected)
    }
  })

  it('refuses a blocklisted password and does not check a hash against the blocklist', async () => {
    const checked: string[] = []
    const core = memoryCore(() => ({
      blocklist: {
        async has(password) {
          checked.push(password)
          return password === 'password'
        },
      },
    }))
    const common = isRefusal('password', 'Too common. Choose another password.')
    await assert.rejects(add(core, { password: { password: 'password' } }), common)
    const customer = await add(core, { password: { password: 'passwort' } })
    assert.ok(customer)
    const set = (password: NewPassword) => core.customers.setPassword(customer.id, password, core.deadline())
    await assert.rejects(set({ password: 'password' }), common)
    assert.equal(await storedHash(core, customer.email), hashOf('passwort'))
    await set({ passwordHash: HASH })
    assert.deepEqual(checked, ['password', 'passwort', 'password'])
  })

  it('returns null when the e-mail is taken in any ASCII case, and changes nothing', async () => {
    const core = memoryCore()
    await add(core, { email: 'Ana@example.com', password: { passwordHash: HASH } })
    assert.equal(await add(core, { email: ' ANA@EXAMPLE.COM', password: { password: 'password' } }), null)
    assert.equal(core.store.customers.size, 1)
    assert.equal(await storedHash(core, 'ana@example.com'), HASH)
  })

  for (const [what, input, field, sentence] of [
    ['an e-mail of blanks', { email: ' \t ' }, 'email', 'Must have 1 to 254 characters.'],
    ['too long an e-mail', { email: 'a'.repeat(255) }, 'email', 'Must have 1 to 254 characters.'],
    ['an e-mail with a control character', { email: 'a\u0000b' }, 'email', CONTROL],
    ['an ill-formed e-mail', { email: 'a\ud83e' }, 'email', 'Must be well-formed text.'],
    ['too long a name', { name: '🦊'.repeat(201) }, 'name', 'Must have at most 200 characters.'],
    ['an ill-formed name', { name: '\udd8a' }, 'name', 'Must be well-formed text.'],
    ['a line break in the name', { name: 'Ana\n' }, 'name', CONTROL],
    ['DEL in the name', { name: 'Ana\u007f' }, 'name', CONTROL],
    ['C1 in the name', { name: '\u009b31mAna' }, 'name', CONTROL],
    [
      'a short password',
      { password: { password: '1234567' } },
      'password',
      'Must have at least 8 characters.',
    ],
    [
      'a long password',
      { password: { password: 'p'.repeat(1025) } },
      'password',
      'Must have at most 1024 bytes.',
    ],
    ['NUL in the password', { password: { password: 'pass\0word' } }, 'password', 'Must not contain NUL.'],
    [
      'a hash as password',
      { password: { password: HASH } },
      'password',
      'Must be a password, not the hash of one.',
    ],
    ['a padded hash', { password: { passwordHash: `${HASH} ` } }, 'password_hash', WHOLE],
    ['clear text as hash', { password: { passwordHash: 'password' } }, 'password_hash', WHOLE],
    ['an empty hash', { password: { passwordHash: '' } }, 'password_hash', WHOLE],
  ] as const) {
    it(`is refused with ${what}, before any store call`, async () => {
      const { port, calls } = unreachable<Customers>(new Unavailable())
      const core = memoryCore(() => ({ customers: port }))
      await assert.rejects(add(core, input), isRefusal(field, sentence))
      assert.deepEqual(calls, [])
    })
  }

  it('accepts a name of 200 code points and an empty name', async () => {
    const core = memoryCore()
    assert.ok(await add(core, { email: 'a@b', name: '🦊'.repeat(200) }))
    assert.ok(await add(core, { email: 'b@b', name: '' }))
  })

  it('publishes no invalidation, because no cache holds a new customer', async () => {
    const core = memoryCore()
    await add(core)
    assert.deepEqual(core.announced, [])
  })
})

describe('A new password of words that are guessed first', () => {
  const WORDS = 'Must not consist of words of the e-mail, the name or the service.'
  const settings = { publicUrl: 'https://api.acme.example' }
  const refused = isRefusal('password', WORDS)

  it('is refused: of the e-mail, the name, the address of the service, and its product', async () => {
    const core = memoryCore(undefined, settings)
    for (const password of ['ana@example', 'Lopez-1985', 'acme.2026', 'Latchkey1'])
      await assert.rejects(add(core, { name: 'Ana Lopez', password: { password } }), refused, password)
    const customer = await add(core, { name: 'Ana Lopez' })
    assert.ok(customer)
    const set = (password: NewPassword, id = customer.id) =>
      core.customers.setPassword(id, password, core.deadline())
    await assert.rejects(set({ password: 'Lopez-1985' }), refused)
    await assert.rejects(set({ password: 'acme.2026' }, 'x'), refused)
    assert.equal(await set({ password: 'Lopez-1985' }, 'x'), null)
    assert.equal(await set({ password: 'the horse of Lopez' }), 0)
  })

  it('is accepted where common passwords are', async () => {
    const core = memoryCore(undefined, { ...settings, refusesCommonPasswords: false })
    assert.ok(await add(core, { password: { password: 'acme.2026' } }))
  })
})

describe('Finding a customer', () => {
  it('returns null for an unknown e-mail, and never the hash', async () => {
    const core = memoryCore()
    await add(core, { password: { passwordHash: HASH } })
    assert.equal(await core.customers.find('bea@example.com', core.deadline()), null)
    const found = await core.customers.find('ana@example.com', core.deadline())
    assert.ok(!JSON.stringify(found).includes(HASH))
  })
})

describe('Setting a password', () => {
  it('invalidates the old password, revokes every token and returns their number', async () => {
    const core = memoryCore()
    const customer = await core.customer()
    const bot = await core.token(customer, { name: 'bot' })
    const { secret } = await core.login({ email: customer.email, password: 'right' }, core.deadline())
    assert.equal(await core.customers.setPassword(customer.id, { password: 'new word' }, core.deadline()), 2)
    for (const old of [bot.secret, secret]) {
      await assert.rejects(async () => core.authenticate(old, core.deadline()), InvalidToken)
    }
    const login = (password: string) => core.login({ email: customer.email, password }, core.deadline())
    await assert.rejects(login('right'), InvalidCredentials)
    await login('new word')
    assert.equal(await core.customers.setPassword(customer.id, { passwordHash: HASH }, core.deadline()), 1)
    assert.equal(await storedHash(core, customer.email), HASH)
  })

  it('is refused for an invalid password or hash, without a change or an invalidation', async () => {
    const core = memoryCore()
    const { id, email } = await core.customer()
    const set = (password: Parameters<Core['customers']['setPassword']>[1]) =>
      core.customers.setPassword(id, password, core.deadline())
    const long = 'Must have at most 1024 bytes.'
    await assert.rejects(set({ password: '€'.repeat(342) }), isRefusal('password', long))
    await assert.rejects(set({ passwordHash: `${HASH}\r` }), isRefusal('password_hash', WHOLE))
    assert.equal(await storedHash(core, email), hashOf('right'))
    assert.deepEqual(core.announced, [])
  })
})

describe('Disabling, enabling and deleting a customer', () => {
  it('disabling ends tokens and logins, and enabling restores only logins', async () => {
    const core = memoryCore()
    const { id, email } = await core.customer()
    const { secret } = await core.login({ email, password: 'right' }, core.deadline())
    assert.equal(await core.customers.disable(id, core.deadline()), 1)
    await assert.rejects(async () => core.authenticate(secret, core.deadline()), InvalidToken)
    await assert.rejects(core.login({ email, password: 'right' }, core.deadline()), InvalidCredentials)
    assert.equal((await core.customers.find(email, core.deadline()))?.disabledAtMs, core.clock.nowMs())

    assert.equal(await core.customers.enable(id, core.deadline()), true)
    await assert.rejects(async () => core.authenticate(secret, core.deadline()), InvalidToken)
    await core.login({ email, password: 'right' }, core.deadline())
  })

  it('deleting removes the customer and the tokens', async () => {
    const core = memoryCore()
    const customer = await core.customer()
    await core.token(customer)
    assert.equal(await core.customers.delete(customer.id, core.deadline()), true)
    assert.equal(core.store.customers.size + core.store.tokens.size, 0)
  })

  it('reports an unknown customer', async () => {
    const { customers, deadline } = memoryCore()
    assert.equal(await customers.setPassword('x', { passwordHash: HASH }, deadline()), null)
    assert.equal(await customers.disable('x', deadline()), null)
    assert.equal(await customers.enable('x', deadline()), false)
    assert.equal(await customers.delete('x', deadline()), false)
  })
})

describe('A change that revokes tokens', () => {
  const changes = {
    setPassword: (core: Core, id: string) =>
      core.customers.setPassword(id, { passwordHash: HASH }, core.deadline()),
    disable: (core: Core, id: string) => core.customers.disable(id, core.deadline()),
    delete: (core: Core, id: string) => core.customers.delete(id, core.deadline()),
  }

  for (const [name, change] of Object.entries(changes)) {
    it(`publishes an invalidation for its customer after the commit and before the acknowledgement: ${name}`, async () => {
      const core = memoryCore()
      const customer = await core.customer()
      const { token } = await core.token(customer)
      const liveWhenPublished: boolean[] = []
      core.ports.invalidations.subscribe(() => {
        liveWhenPublished.push(
          [...core.store.tokens.values()].some(
            ({ id, revokedAtMs }) => id === token.id && revokedAtMs === null,
          ),
        )
      })
      await change(core, customer.id)
      assert.deepEqual(core.announced, [{ kind: 'customer', customerId: customer.id }])
      assert.deepEqual(liveWhenPublished, [false])
    })

    it(`is acknowledged only once every instance has applied it: ${name}`, async () => {
      let applied: () => void = () => {}
      const core = memoryCore(() => ({
        invalidations: {
          subscribe() {},
          isCurrent: () => true,
          publish: () =>
            new Promise((resolve) => {
              applied = resolve
            }),
        },
      }))
      let acknowledged = false
      const { id } = await core.customer()
      const running = change(core, id).then(() => {
        acknowledged = true
      })
      await new Promise((resolve) => setImmediate(resolve))
      assert.equal(acknowledged, false)
      applied()
      await running
    })

    it(`is published even if its outcome is unknown, and passes the error on: ${name}`, async () => {
      const failure = new Unavailable()
      const { port, calls } = unreachable<Customers>(failure)
      const core = memoryCore(() => ({ customers: port }))
      await assert.rejects(change(core, 'c1'), failure)
      assert.equal(calls.length, 1)
      assert.deepEqual(core.announced, [{ kind: 'customer', customerId: 'c1' }])
    })
  }

  it('does not include enabling a customer', async () => {
    const core = memoryCore()
    const { id } = await core.customer({ disabledAtMs: 1 })
    await core.customers.enable(id, core.deadline())
    assert.deepEqual(core.announced, [])
  })
})

describe('Looking at a customer', () => {
  const requestedBy = { requester: aRequester({ requestId: 'r1', address: '192.0.2.7' }), service: 'oncall' }
  const viewed = { event: 'customer.viewed', requestId: 'r1', address: '192.0.2.7', service: 'oncall' }

  it('finds it by e-mail, ID and the ID of a token, with the failures that count, and is recorded', async () => {
    const failures = { failures: 2, lockedAddresses: 1, guessesUntilMs: null }
    const asked: string[] = []
    const core = memoryCore(({ throttle }) => ({
      throttle: {
        ...throttle,
        async read(account) {
          asked.push(account)
          return failures
        },
      },
    }))
    const customer = await core.customer({ email: 'Ana@Example.com' })
    const { token } = await core.token(customer)
    for (const search of [{ email: 'ANA@example.com' }, { id: customer.id }, { id: token.id }])
      assert.deepEqual(await core.customers.view(search, core.deadline(), requestedBy), {
        customer,
        failures,
      })
    assert.deepEqual(asked, Array(3).fill('ana@example.com'))
    assert.deepEqual(core.recorded, Array(3).fill({ ...viewed, customerId: customer.id }))
  })

  it('has no failures where the store cannot list them', async () => {
    const core = memoryCore()
    const customer = await core.customer()
    const found = await core.customers.view({ id: customer.id }, core.deadline(), requestedBy)
    assert.deepEqual(found, { customer, failures: null })
  })

  it('returns null for an unknown one, and is recorded', async () => {
    const core = memoryCore()
    for (const search of [{ email: 'nobody@example.com' }, { id: 'x' }])
      assert.equal(await core.customers.view(search, core.deadline(), requestedBy), null)
    assert.deepEqual(core.recorded, Array(2).fill({ ...viewed, customerId: null }))
  })
})

describe('Unlocking a customer', () => {
  const requestedBy = { requester: aRequester({ requestId: 'r1', address: '192.0.2.7' }), service: 'oncall' }
  const who = { requestId: 'r1', address: '192.0.2.7', service: 'oncall' }

  it('forgets the failed logins of the account and keeps the sessions', async () => {
    const forgotten: string[] = []
    const core = memoryCore(({ throttle }) => ({
      throttle: { ...throttle, forget: async (account) => void forgotten.push(account) },
    }))
    const customer = await core.customer({ email: 'Ana@Example.com' })
    const { secret } = await core.token(customer)
    assert.equal(await core.customers.unlock(customer, core.deadline()), 0)
    assert.deepEqual(forgotten, ['ana@example.com'])
    assert.deepEqual(core.recorded, [{ event: 'customer.unlocked', customerId: customer.id }])
    await core.authenticate(secret, core.deadline())
  })

  it('frees the slots of the sessions where logins are refused at the limit', async () => {
    const core = memoryCore(undefined, { loginSessionsFull: 'refuse' })
    const customer = await core.customer()
    await core.token(customer)
    const bot = await core.token(customer, { name: 'bot' })
    assert.equal(await core.customers.unlock(customer, core.deadline(), requestedBy), 1)
    const of = { ...who, customerId: customer.id }
    assert.deepEqual(core.recorded.splice(0), [
      { ...of, event: 'customer.unlocked' },
      { ...of, event: 'token.revoked', reason: 'operator', count: 1 },
    ])
    await core.authenticate(bot.secret, core.deadline())
    assert.equal(await core.customers.unlock(customer, core.deadline(), requestedBy), 0)
    assert.deepEqual(core.recorded, [{ ...of, event: 'customer.unlocked' }])
  })
})
