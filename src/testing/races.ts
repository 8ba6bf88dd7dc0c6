import assert from 'node:assert/strict'
import { aDigest, aLoginToken } from './builders.ts'
import { login, type Stores, storedCustomer, TIMEOUT_MS, unrevoked } from './stores.ts'

/**
 * Parallel logins of one customer, every fourth logged out as soon as it is in. All succeed, and
 * of those that nobody ended one at most is left, the last one.
 */
export async function raceLogins(stores: Stores, parallel: number): Promise<void> {
  const customer = await storedCustomer(stores)
  const rounds = Array.from({ length: parallel }, async (_, index) => {
    const { token, digest, accepted } = await login(stores, customer)
    assert.ok(accepted, 'a parallel login was refused')
    if (index % 4 === 3) await stores.loginTokens.revoke({ id: token.id, digest }, Date.now(), TIMEOUT_MS)
    return { token, isLoggedOut: index % 4 === 3 }
  })
  const results = await Promise.all(rounds)
  const live = await unrevoked(stores, customer.id)
  assert.ok(live.length <= 1, `${live.length} login tokens are live`)
  for (const { id } of live) {
    const mine = results.find(({ token }) => token.id === id)
    assert.ok(mine && !mine.isLoggedOut, 'a live token is none of those handed out, or was logged out')
  }

  const last = await login(stores, customer)
  assert.ok(last.accepted)
  assert.deepEqual(
    (await unrevoked(stores, customer.id)).map(({ id }) => id),
    [last.token.id],
  )
}

/**
 * Logins with a password raced against its change, or against a disable. Whatever came first,
 * no token won with the old password is live in the end.
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
    calls.push(login(stores, customer))
    // Another password ends no named token that is made after it, a disable each.
    const bot = aLoginToken({ customerId: customer.id, name: 'bot' })
    if (ending === 'disable') calls.push(stores.loginTokens.add(bot, aDigest(), TIMEOUT_MS))
  }
  await Promise.all(calls)
  assert.deepEqual(await unrevoked(stores, customer.id), [], `a token outlived the ${ending}`)
}
