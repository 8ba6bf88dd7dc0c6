import assert from 'node:assert/strict'
import type { NewLogin } from '../application/ports/login-tokens.ts'
import { Unavailable } from '../domain/errors.ts'
import { admitSession } from '../domain/session.ts'
import { aDigest, aLoginToken } from './builders.ts'
import { login, type StoredCustomer, type Stores, storedCustomer, TIMEOUT_MS, unrevoked } from './stores.ts'

const MAX_TRIES = 3

/**
 * Runs a change, and again when the store is unavailable: on a busy machine, one of many parallel changes may wait for the
 * customer's row longer than the adapter allows. Nothing of it is then stored.
 */
export async function repeatUnavailable<T>(change: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await change()
    } catch (error) {
      if (!(error instanceof Unavailable) || tries === MAX_TRIES) throw error
    }
  }
}

/** Logs in like `login`, and again with another token when the store is unavailable. Returns the number of tries, too. */
export async function loginInRace(
  stores: Stores,
  customer: StoredCustomer,
  admit?: NewLogin['admit'],
): Promise<Awaited<ReturnType<typeof login>> & { readonly tries: number }> {
  let tries = 0
  const issued = await repeatUnavailable(() => {
    tries += 1
    return login(stores, customer, {}, admit)
  })
  return { ...issued, tries }
}

/**
 * Runs parallel logins of one customer; every fourth is followed by a logout. Asserts that all succeed and that at most
 * one token stays active, which was not logged out.
 */
export async function raceLogins(stores: Stores, parallel: number): Promise<void> {
  const customer = await storedCustomer(stores)
  const rounds = Array.from({ length: parallel }, async (_, index) => {
    const { token, digest, accepted } = await loginInRace(stores, customer)
    assert.ok(accepted, 'a parallel login was refused')
    if (index % 4 === 3) await stores.loginTokens.revoke({ id: token.id, digest }, Date.now(), TIMEOUT_MS)
    return { token, isLoggedOut: index % 4 === 3 }
  })
  const results = await Promise.all(rounds)
  const live = await unrevoked(stores, customer.id)
  assert.ok(live.length <= 1, `${live.length} login tokens are active`)
  for (const { id } of live) {
    const issued = results.find(({ token }) => token.id === id)
    assert.ok(issued && !issued.isLoggedOut, 'an active token was never issued, or was logged out')
  }

  const last = await login(stores, customer)
  assert.ok(last.accepted)
  assert.deepEqual(
    (await unrevoked(stores, customer.id)).map(({ id }) => id),
    [last.token.id],
  )
}

/**
 * Races logins against a change of the password or a disable. Asserts that afterwards no token issued with the old
 * password is active.
 */
export async function raceEnding(
  stores: Stores,
  ending: 'password' | 'disable',
  parallel = 6,
): Promise<void> {
  const customer = await storedCustomer(stores)
  const endsAfter = Math.floor(Math.random() * parallel)
  const calls: Promise<unknown>[] = []
  for (let index = 0; index < parallel; index += 1) {
    if (index === endsAfter) {
      calls.push(
        ending === 'password'
          ? stores.customers.setPasswordHash(customer.id, 'another hash', Date.now(), TIMEOUT_MS)
          : stores.customers.disable(customer.id, Date.now(), TIMEOUT_MS),
      )
    }
    calls.push(loginInRace(stores, customer))
    // After a new password, named tokens can still be created; after a disable, none can.
    const bot = aLoginToken({ customerId: customer.id, name: 'bot' })
    if (ending === 'disable') calls.push(stores.loginTokens.add(bot, aDigest(), TIMEOUT_MS))
  }
  await Promise.all(calls)
  assert.deepEqual(await unrevoked(stores, customer.id), [], `a token outlived the ${ending}`)
}

/**
 * Races logins with the old password against a change of the password. Asserts that afterwards only the session that changed
 * it is active.
 */
export async function raceChange(stores: Stores, parallel = 6): Promise<void> {
  const customer = await storedCustomer(stores)
  const admit: NewLogin['admit'] = (held) =>
    admitSession(held, { max: 100, whenFull: 'replace' }, () => false)
  const { token } = await login(stores, customer, {}, admit)
  const changesAfter = Math.floor(Math.random() * parallel)
  const calls: Promise<unknown>[] = []
  for (let index = 0; index < parallel; index += 1) {
    if (index === changesAfter) {
      const change = { verifiedHash: customer.passwordHash, passwordHash: 'another hash', atMs: Date.now() }
      calls.push(
        stores.customers.changePassword(
          { customerId: customer.id, keepTokenId: token.id, ...change },
          TIMEOUT_MS,
        ),
      )
    }
    calls.push(loginInRace(stores, customer, admit))
  }
  await Promise.all(calls)
  const live = (await unrevoked(stores, customer.id)).map(({ id }) => id)
  assert.deepEqual(live, [token.id], 'another token is active after the change')
}
