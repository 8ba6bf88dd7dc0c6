import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { openEmbeddedPostgres } from '../../../../src/adapters/embedded-postgres/open-embedded-postgres.ts'
import { migrate } from '../../../../src/adapters/postgres/migrations.ts'
import {
  type PostgresInvalidations,
  postgresInvalidations,
} from '../../../../src/adapters/postgres/revocation/invalidations.ts'
import { systemClock } from '../../../../src/adapters/system-clock/clock.ts'
import type { Invalidation } from '../../../../src/application/ports/invalidations.ts'
import { sqlOn } from '../../../support/database.ts'
import { temporaryFolder } from '../../../support/running-process.ts'
import { until } from '../../../support/until.ts'

const TOKENS = 100

// On a server of its own: logical replication needs another `wal_level`, and slots belong to the whole server.
describe('An instance on a subscriber of logical replication', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  const applied: { readonly invalidation: Invalidation; readonly atMs: number }[] = []
  let server: { readonly url: string; close(): Promise<void> }
  let subscriber: string
  let invalidations: PostgresInvalidations

  before(async () => {
    folder = await temporaryFolder()
    chmodSync(folder.path, 0o755)
    const options = { dataDir: join(folder.path, 'data'), home: folder.path, role: 'service' } as const
    const first = await openEmbeddedPostgres(options)
    await sqlOn(first.url, "alter system set wal_level = 'logical'")
    await first.close()
    server = await openEmbeddedPostgres(options)
    await sqlOn(server.url, 'create database subscriber')
    subscriber = Object.assign(new URL(server.url), { pathname: '/subscriber' }).href
    for (const url of [server.url, subscriber]) await migrate({ url })
    await sqlOn(server.url, 'create publication tokens for table customers, login_tokens')
    // A subscription to the same server cannot create its slot itself.
    await sqlOn(server.url, "select pg_create_logical_replication_slot('tokens', 'pgoutput')")
    await sqlOn(
      subscriber,
      `create subscription tokens connection '${server.url}' publication tokens with (create_slot = false, slot_name = tokens)`,
    )
    await sqlOn(
      server.url,
      `insert into customers (id, email, created_at) values ('00000000-0000-4000-8000-000000000000', 'a@b', now());
       insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
       select gen_random_uuid(), '00000000-0000-4000-8000-000000000000', 'n' || n, sha256(n::text::bytea), '{}', now()
         from generate_series(1, ${TOKENS}) as n`,
    )
    invalidations = postgresInvalidations({
      url: subscriber,
      directUrl: subscriber,
      prepared: true,
      strict: true,
      clock: systemClock,
      onEvent() {},
    })
    invalidations.subscribe((invalidation) => applied.push({ invalidation, atMs: performance.now() }))
    await until(invalidations.isCurrent)
    await until(async () => {
      const [found] = await sqlOn<{ n: number }>(subscriber, 'select count(*)::int as n from login_tokens')
      return found?.n === TOKENS
    })
  })
  after(async () => {
    await invalidations?.close()
    await server?.close()
    await folder?.remove()
  })

  it('applies each revocation that arrives by replication, and no use of a token', async (t) => {
    await sqlOn(server.url, 'update login_tokens set last_used_at = now()')
    const tokens = await sqlOn<{ id: string; digest: string }>(
      server.url,
      "select id, encode(token_hash, 'hex') as digest from login_tokens",
    )
    const beganMs = new Map<string, number>()
    applied.length = 0
    for (const { id, digest } of tokens) {
      beganMs.set(digest, performance.now())
      await sqlOn(server.url, 'update login_tokens set revoked_at = now() where id = $1', [id])
    }
    await until(() => applied.length === TOKENS)
    const delaysMs = applied.map(({ invalidation, atMs }) => {
      assert.ok(invalidation.kind === 'digest')
      return atMs - (beganMs.get(invalidation.digest) ?? assert.fail())
    })
    assert.equal(new Set(applied.map(({ invalidation }) => JSON.stringify(invalidation))).size, TOKENS)
    t.diagnostic(`${TOKENS} revocations, the slowest after ${Math.round(Math.max(...delaysMs))} ms`)
  })

  it('applies the change and the deletion of a customer', async () => {
    applied.length = 0
    await sqlOn(server.url, 'update customers set disabled_at = now()')
    await until(() => applied.length === 1)
    await sqlOn(server.url, 'delete from customers')
    await until(() => applied.length === 2)
    const change = { kind: 'customer', customerId: '00000000-0000-4000-8000-000000000000' }
    assert.deepEqual(
      applied.map(({ invalidation }) => invalidation),
      [change, change],
    )
  })
})
