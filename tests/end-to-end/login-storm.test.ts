import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTestApp, type TestApp } from '../../src/testing/test-app.ts'
import type { TestCustomer } from '../../src/testing/test-clients.ts'
import { until } from '../support/until.ts'

const ROUNDS = process.env.TEST_LONG ? 5 : 1
const HONEST = 12
/** At once; the queue always has room for them, however slow the machine is. */
const COLLEAGUES = 3
/** More than the queue has slots: at a cost of 10, one thread verifies about 40 passwords in two seconds. */
const PARALLEL = 50
const SETTINGS = {
  BCRYPT_COST: '10',
  HASHING_CONCURRENCY: '1',
  TRUST_PROXY: '1',
  LOGIN_LIMIT_ACCOUNT: 'off',
} as const

describe('While logins storm the hashing queue, at least 11 of 12 other logins succeed', () => {
  it('when wrong passwords come from many networks of one IPv6 /48', { timeout: 400_000 }, async () => {
    let sent = 0
    await withStorm({
      attack: (app) => {
        const i = sent++
        return login(app, `unknown-${i}@example.com`, 'wrong', `2001:db8:7:${(i % 65_536).toString(16)}::1`)
      },
    })
  })

  it('when one valid account logs in repeatedly from the address of three colleagues', {
    timeout: 400_000,
  }, async () => {
    await withStorm({
      attack: (app, { email, password }) => login(app, email, password, '192.0.2.1'),
      addressOf: (customer) => (customer < COLLEAGUES ? '192.0.2.1' : `192.0.2.${customer}`),
    })
  })
})

/** Runs the attack in parallel, without a pause, and expects that honest logins succeed meanwhile. */
async function withStorm({
  attack,
  addressOf = (customer) => `192.0.2.${customer}`,
}: {
  readonly attack: (app: TestApp, attacker: TestCustomer) => Promise<number>
  readonly addressOf?: (customer: number) => string
}): Promise<void> {
  const app = await createTestApp({ settings: SETTINGS })
  const attacker = await app.customer()
  const customers = await Promise.all(Array.from({ length: HONEST }, () => app.customer()))
  let isOver = false
  let refused = 0
  const attackers = Array.from({ length: PARALLEL }, async () => {
    while (!isOver) if ((await attack(app, attacker)) === 503) refused++
  })
  try {
    for (let round = 1; round <= ROUNDS; round++) {
      const before = refused
      await until(() => refused > before)
      const statuses: number[] = []
      while (statuses.length < HONEST) {
        const group = customers.slice(statuses.length, statuses.length + COLLEAGUES)
        const logins = group.map(({ email, password }, i) =>
          login(app, email, password, addressOf(statuses.length + i)),
        )
        statuses.push(...(await Promise.all(logins)))
      }
      const succeeded = statuses.filter((status) => status === 200).length
      assert.ok(succeeded >= HONEST - 1, `round ${round}: ${statuses.join(' ')}`)
    }
  } finally {
    isOver = true
    await Promise.all(attackers)
    await app.close()
  }
}

async function login(app: TestApp, email: string, password: string, from: string): Promise<number> {
  const headers = { 'X-Forwarded-For': from }
  return (await app.call('/api/login', { body: { email, password }, headers })).status
}
