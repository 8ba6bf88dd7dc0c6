import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { memoryLoginThrottle } from 'latchkey/adapters/memory'
import { createTestApp, type TestApp } from 'latchkey/testing'
import { MAIL_LIMITS } from '../src/limits.ts'
import type { Mail } from '../src/mailer.ts'
import { createMails } from '../src/mails.ts'
import { accountRoutes } from '../src/routes.ts'

const SITE = 'https://shop.example'
const EMAIL = 'ana@example.com'
const PASSWORD = 'a horse and a battery'
const ANOTHER = 'a staple and a battery'
const HOUR_MS = 3_600_000
const INVALID = ['Is not valid any more. Ask for another mail.']

let app: TestApp
let sent: Mail[]
let send: (mail: Mail) => Promise<void>
beforeEach(async () => {
  sent = []
  send = async (mail) => void sent.push(mail)
  const mails = createMails(SITE)
  app = await createTestApp({
    settings: { LOGIN_SESSIONS: '3' },
    onPasswordChange: ({ email }) => void send(mails.passwordChanged(email)),
    routes: (useCases) =>
      accountRoutes({
        useCases,
        mails,
        send: (mail) => send(mail),
        throttle: memoryLoginThrottle(MAIL_LIMITS, { monotonicMs: () => app.clock.monotonicMs() }),
      }),
  })
})
afterEach(() => app.close())

const post = (path: string, body: object) => app.call(`/api${path}`, { body })
const signUp = (email = EMAIL) => post('/sign-up', { email, name: 'Ana' })
const login = (password: string, email = EMAIL) => post('/login', { email, password })

/** Waits for the next mail, which is sent after the response. */
async function nextMail(): Promise<Mail & { readonly token: string }> {
  while (sent.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  const mail = sent.shift() as Mail
  return { ...mail, token: /#(\w+)/.exec(mail.text)?.[1] ?? '' }
}

/** Signs up and confirms. */
async function register(): Promise<void> {
  await signUp()
  const { token } = await nextMail()
  assert.equal((await post('/sign-up/confirm', { token, new_password: PASSWORD })).status, 200)
  assert.equal((await nextMail()).subject, 'Your password was changed')
}

describe('Signing up', () => {
  it('sends a link to the e-mail, which verifies it, and with which the customer chooses a password', async () => {
    assert.deepEqual((await signUp()).body, { success: true })
    const { to, text, token } = await nextMail()
    assert.equal(to, EMAIL)
    assert.ok(text.includes(`${SITE}/confirm#${token}`))
    for (const password of ['', PASSWORD]) assert.equal((await login(password)).status, 401)
    assert.equal((await post('/sign-up/confirm', { token, new_password: PASSWORD })).status, 200)
    assert.equal((await login(PASSWORD)).status, 200)
  })

  it('checks the password without using up the link', async () => {
    await signUp()
    const { token } = await nextMail()
    const { status, body } = await post('/sign-up/confirm', { token, new_password: 'short' })
    assert.deepEqual([status, body.errors], [422, { new_password: ['Must have at least 8 characters.'] }])
    assert.equal((await post('/sign-up/confirm', { token, new_password: PASSWORD })).status, 200)
  })

  it('with the e-mail of a customer has the same response, and the mail says so to the customer', async () => {
    const first = await signUp()
    await nextMail()
    const again = await signUp(EMAIL.toUpperCase())
    assert.deepEqual([again.status, again.body], [first.status, first.body])
    const { to, subject, token } = await nextMail()
    assert.deepEqual([to, subject], [EMAIL, 'Choose a new password'])
    assert.equal((await post('/password/reset', { token, new_password: PASSWORD })).status, 200)
    assert.equal((await login(PASSWORD)).status, 200)
  })

  it('needs an e-mail', async () => {
    for (const email of ['', 'ana', 'a@b', 7]) {
      const { status, body } = await post('/sign-up', { email })
      assert.deepEqual([status, Object.keys(body.errors as object)], [422, ['email']], `${email}`)
    }
  })
})

describe('A forgotten password', () => {
  it('is replaced by a link that works once, and every token of the customer ends', async () => {
    await register()
    const tokens = [(await login(PASSWORD)).body.token, (await login(PASSWORD)).body.token]
    assert.deepEqual((await post('/password/forgotten', { email: EMAIL })).body, { success: true })
    const { token } = await nextMail()
    assert.equal((await post('/password/reset', { token, new_password: ANOTHER })).status, 200)
    for (const old of tokens) assert.equal((await app.call('/api/me', { token: old as string })).status, 401)
    assert.deepEqual([(await login(PASSWORD)).status, (await login(ANOTHER)).status], [401, 200])
    assert.equal((await nextMail()).subject, 'Your password was changed')
    const { status, body } = await post('/password/reset', { token, new_password: PASSWORD })
    assert.deepEqual([status, body.errors], [422, { token: INVALID }])
    assert.ok(app.audit.some(({ event }) => event === 'customer.password_reset'))
  })

  it('of an unknown e-mail has the same response, and no mail is sent', async () => {
    await register()
    const known = await post('/password/forgotten', { email: EMAIL })
    await nextMail()
    const unknown = await post('/password/forgotten', { email: 'bea@example.com' })
    assert.deepEqual([unknown.status, unknown.body], [known.status, known.body])
    // A later mail arrives without one before it.
    await post('/password/forgotten', { email: EMAIL })
    assert.equal((await nextMail()).to, EMAIL)
  })

  it('is not replaced by a link that has expired, was replaced, is of a sign-up, or follows a change', async () => {
    await signUp()
    const signedUp = await nextMail()
    const ask = async () => {
      await post('/password/forgotten', { email: EMAIL })
      return (await nextMail()).token
    }
    const isRefused = async (token: string) => {
      const { status, body } = await post('/password/reset', { token, new_password: ANOTHER })
      assert.deepEqual([status, body.errors], [422, { token: INVALID }])
    }
    await isRefused(signedUp.token)
    const replaced = await ask()
    const expired = await ask()
    await isRefused(replaced)
    app.clock.advance(HOUR_MS)
    await isRefused(expired)
    const late = await ask()
    await post('/sign-up/confirm', { token: signedUp.token, new_password: PASSWORD })
    await isRefused(late)
  })

  it('is limited to three mails an hour for an e-mail and an address', async () => {
    await register()
    const ask = async (email: string) => (await post('/password/forgotten', { email })).status
    assert.deepEqual([await ask(EMAIL), await ask(EMAIL), await ask(EMAIL)], [200, 200, 429])
    assert.equal(await ask('bea@example.com'), 200)
    app.clock.advance(HOUR_MS)
    assert.equal(await ask(EMAIL), 200)
    assert.equal((await login(PASSWORD)).status, 200)
  })

  it('is logged when the mail could not be sent', async () => {
    await register()
    send = () => Promise.reject(new Error('no route to the mail server'))
    assert.equal((await post('/password/forgotten', { email: EMAIL })).status, 200)
    while (!app.logged.some(({ event }) => event === 'account.mail_failed'))
      await new Promise((resolve) => setTimeout(resolve, 1))
  })
})
