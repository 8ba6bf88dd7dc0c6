import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { escapeLiteral } from 'pg'
import type { DatabasePool } from '../../../src/adapters/postgres/connection/pool.ts'
import type { Session, Statement } from '../../../src/adapters/postgres/connection/session.ts'
import { postgresCustomers } from '../../../src/adapters/postgres/customers.ts'
import { postgresLoginTokens } from '../../../src/adapters/postgres/login-tokens.ts'
import { aDigest } from '../../../src/testing/builders.ts'
import { login, namedToken, storedCustomer, TIMEOUT_MS } from '../../../src/testing/stores.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'

/** What each statement reads by: the names of indexes, or `Seq Scan of …` for a table that is read whole. */
type Reads = Map<string, readonly string[]>

/** How many rows each statement read by its ranges and then skipped, at each of its executions. */
type Skipped = Map<string, number[]>

/** The statements that read a table page by page. */
const PAGED = /^list_(customers|tokens)$|_tokens_issued_before$/

/** The part of a plan that is checked. */
interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

describe('The query plans on large tables', () => {
  let stores: PostgresStores
  before(async () => {
    stores = await openPostgresStores()
    const name = new URL(stores.database.url).pathname.slice(1)
    // What a statement that was prepared long ago runs with; every connection of the pool is made after this.
    await stores.database.sql(`alter database ${name} set plan_cache_mode = force_generic_plan`)
    await stores.database.sql(`
      with customer as (
        insert into customers (id, email, name, created_at)
        select gen_random_uuid(), 'customer-' || n || '@example.com', 'Customer ' || n, now()
          from generate_series(1, 3000) as n
        returning id)
      insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, revoked_at)
      select gen_random_uuid(), id, 'login', sha256((id::text || n)::bytea), '{*}', now(),
             case when n > 1 then now() end
        from customer, generate_series(1, 5) as n`)
    await stores.database.sql('analyze customers, login_tokens')
  })
  after(() => stores.close())

  it('use an index for every query about one customer by a request, a login or an operator', async () => {
    const { pool, reads } = explaining(stores.pool)
    const customers = postgresCustomers(pool)
    const loginTokens = postgresLoginTokens(pool)
    const customer = await storedCustomer(stores)
    const explained = { ...stores, customers, loginTokens }
    const { token, digest } = await login(explained, customer)
    await namedToken(explained, customer)
    await loginTokens.findByDigest(digest, TIMEOUT_MS)
    await loginTokens.listByCustomer(customer.id, TIMEOUT_MS)
    await loginTokens.list({ after: null, limit: 500 }, TIMEOUT_MS)
    await loginTokens.touch([{ id: token.id, atMs: Date.now() }], TIMEOUT_MS)
    await loginTokens.revokeByCustomer(customer.id, { name: 'bot' }, Date.now(), TIMEOUT_MS)
    await loginTokens.revokeIssuedBefore(0, Date.now(), { timeoutMs: TIMEOUT_MS })
    await loginTokens.prune(0, 1000, TIMEOUT_MS)
    await loginTokens.revoke({ id: token.id, digest }, Date.now(), TIMEOUT_MS)
    await customers.findByEmail(customer.email, TIMEOUT_MS)
    await customers.setPasswordHash(customer.id, customer.passwordHash, Date.now(), TIMEOUT_MS)
    const presented = { purpose: 'password-reset', digest: aDigest(), atMs: 0 }
    const reset = { ...presented, customerId: customer.id, passwordHash: customer.passwordHash }
    await customers.resetPassword(reset, TIMEOUT_MS)
    await customers.disable(customer.id, Date.now(), TIMEOUT_MS)
    await customers.enable(customer.id, TIMEOUT_MS)
    await customers.delete(customer.id, TIMEOUT_MS)

    assert.deepEqual(Object.fromEntries(reads), {
      lock_customer: ['customers_pkey'],
      replace_login_token: ['login_tokens_one_login_key'],
      add_token: ['customers_pkey'],
      find_tokens_by_digests: ['customers_pkey', 'login_tokens_token_hash_key'],
      list_tokens_of_customer: ['login_tokens_of_customer_idx'],
      list_tokens: ['customers_email_key', 'login_tokens_of_customer_idx'],
      touch_tokens: ['login_tokens_pkey', 'login_tokens_pkey', 'login_tokens_pkey'],
      lock_customer_of_tokens: ['customers_pkey'],
      revoke_chosen_tokens: ['login_tokens_of_customer_idx'],
      revoke_1000_tokens_issued_before: ['login_tokens_pkey', 'login_tokens_pkey'],
      forget_everything: [],
      try_prune_lock: [],
      lock_ended_tokens: ['login_tokens_ended_at_idx'],
      delete_tokens: ['login_tokens_pkey'],
      revoke_token: ['login_tokens_pkey'],
      find_customer_by_email: ['customers_email_key'],
      set_password_hash: ['customers_pkey'],
      revoke_tokens_of_customer: ['login_tokens_of_customer_idx', 'one_time_tokens_pkey'],
      use_one_time_token_of_customer: ['one_time_tokens_token_hash_key'],
      disable_customer: ['customers_pkey'],
      enable_customer: ['customers_pkey'],
      delete_tokens_of_customer: ['login_tokens_of_customer_idx', 'login_tokens_pkey'],
      delete_customer: ['customers_pkey'],
    })
  })

  it('page through customers and tokens by index ranges that do not read earlier pages', async () => {
    const { pool, skipped } = explaining(stores.pool)
    const customers = postgresCustomers(pool)
    for (let afterEmail: string | null = null, page = []; ; afterEmail = page.at(-1)?.email ?? null) {
      page = [...(await customers.list({ afterEmail, limit: 500 }, TIMEOUT_MS))]
      if (page.length < 500) break
    }
    const loginTokens = postgresLoginTokens(pool)
    for (let after: string | null = null; ; ) {
      const { end } = await loginTokens.list({ after, limit: 500 }, TIMEOUT_MS)
      if (end === null) break
      after = end
    }
    await loginTokens.revokeIssuedBefore(0, Date.now(), { timeoutMs: TIMEOUT_MS })
    for (const [statement, most] of Object.entries({
      list_customers: 0,
      // The tokens of the customer in whose midst the page begins.
      list_tokens: 5,
      // What the step itself has read and found to be revoked.
      revoke_1000_tokens_issued_before: 1000,
    })) {
      const counts = skipped.get(statement) ?? []
      assert.ok(counts.length > 6 && Math.max(...counts) <= most, `${statement}: ${counts}`)
    }
  })

  it('reveal a statement without an index, and one whose index was dropped', async () => {
    const { pool, reads } = explaining(stores.pool)
    const byName = { name: 'find_customer_by_name', text: 'select id from customers where name = $1' }
    await pool.run(TIMEOUT_MS, (session) => session.query(byName, ['Customer 7']))
    assert.deepEqual(reads.get('find_customer_by_name'), ['Seq Scan of customers'])

    await stores.database.sql('drop index customers_email_key')
    await postgresCustomers(pool).findByEmail('customer-7@example.com', TIMEOUT_MS)
    assert.deepEqual(reads.get('find_customer_by_email'), ['Seq Scan of customers'])
  })
})

/** The pool, with each statement explained after it has run, as the connection keeps it prepared. */
function explaining(pool: DatabasePool): {
  readonly pool: DatabasePool
  readonly reads: Reads
  readonly skipped: Skipped
} {
  const reads: Reads = new Map()
  const skipped: Skipped = new Map()
  return {
    reads,
    skipped,
    pool: {
      ...pool,
      run: (timeoutMs, work) =>
        pool.run(timeoutMs, (session) =>
          work({
            ...session,
            async query(statement, values) {
              const result = await session.query(statement, values)
              reads.set(statement.name, readsOf(await planOf(session, statement, values.length)).toSorted())
              if (PAGED.test(statement.name)) {
                const plan = await executedPlanOf(session, statement, values)
                skipped.set(statement.name, [...(skipped.get(statement.name) ?? []), skippedBy(plan)])
              }
              return result
            },
          }),
        ),
    },
  }
}

async function planOf(session: Session, { name }: Statement, parameters: number): Promise<PlanNode> {
  // A plan that is made for its values finds out that none equals null, and reads nothing: only a generic one reads.
  const values = parameters === 0 ? '' : `(${Array(parameters).fill('null').join(', ')})`
  return explained(session, `explain_${name}`, `explain (format json) execute ${name} ${values}`)
}

let executions = 0

/** The plan with what it read when it ran once more, for its values. */
function executedPlanOf(
  session: Session,
  { name }: Statement,
  values: readonly unknown[],
): Promise<PlanNode> {
  const literals = values.map((value) =>
    escapeLiteral(value instanceof Date ? value.toISOString() : String(value)),
  )
  const text = `explain (analyze, format json) execute ${name} (${literals.join(', ')})`
  executions += 1
  return explained(session, `analyze_${executions}`, text)
}

async function explained(session: Session, name: string, text: string): Promise<PlanNode> {
  const [row] = (await session.query({ name, text }, [])).rows
  const [plan] = (row?.['QUERY PLAN'] ?? []) as readonly { readonly Plan: PlanNode }[]
  assert.ok(plan, `${name} has no plan`)
  return plan.Plan
}

function skippedBy({ 'Rows Removed by Filter': removed = 0, Plans: below = [] }: PlanNode): number {
  return below.reduce((sum, node) => sum + skippedBy(node), removed)
}

function readsOf(node: PlanNode): readonly string[] {
  const { 'Node Type': type, 'Relation Name': table, 'Index Name': index, Plans: below = [] } = node
  // The index of a bitmap is that of the node below.
  const isWhole =
    type.endsWith('Scan') && type !== 'Bitmap Heap Scan' && table !== undefined && index === undefined
  return [
    ...(index === undefined ? [] : [index]),
    ...(isWhole ? [`${type} of ${table}`] : []),
    ...below.flatMap(readsOf),
  ]
}
