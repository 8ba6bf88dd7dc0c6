import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { loadBackup } from '../../src/adapters/postgres/backup/restore-backup.ts'
import { LATCHKEY_MIGRATIONS } from '../../src/adapters/postgres/migration-set.ts'
import type { BackupReport } from '../../src/application/ports/backup.ts'
import { runLatchkey } from '../support/running-process.ts'

export const secrets = tokenSecrets({ prefix: 'lk' })

/** The number of rows of the long form of a test, and of the short one that CI runs. */
export const isLong = process.env.TEST_LONG === '1'

/** Fills a migrated database with customers who hold ten tokens each, and returns the secrets of the first tokens. */
export async function fill(url: string, customers: number, tokensEach = 10): Promise<readonly string[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(
      `insert into customers (id, email, name, password_hash, created_at)
       select ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'customer-' || n || '@example.com',
              E'Ana \\\\ "Tab\t" \\n Ñ 😀' || n, '$2b$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u', now()
         from generate_series(1, $1::int) as n`,
      [customers],
    )
    await client.query(
      `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, expires_at, last_used_at)
       select gen_random_uuid(), ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'bot ' || t,
              sha256(('filled ' || n || ' ' || t)::bytea), array['orders:read', '*'], now(), null,
              case when n % 2 = 0 then now() end
         from generate_series(1, $1::int) as n, generate_series(1, $2::int) as t`,
      [customers, tokensEach],
    )
    const known: string[] = []
    for (let n = 1; n <= Math.min(5, customers); n++) {
      const { secret, digest } = secrets.issue()
      await client.query(
        "update login_tokens set token_hash = decode($1, 'hex') where token_hash = sha256($2::bytea)",
        [digest, `filled ${n} 1`],
      )
      known.push(secret)
    }
    return known
  } finally {
    await client.end()
  }
}

/** Returns one text that differs when any row of Latchkey's tables differs. */
export async function fingerprint(
  sql: (text: string) => Promise<Record<string, unknown>[]>,
): Promise<string> {
  const parts = await Promise.all(
    [
      'customers',
      'login_tokens',
      'one_time_tokens',
      'login_attempts',
      'login_attempts_secret',
      'latchkey_channel',
    ].map((table) =>
      sql(
        `select count(*) || ' ' || coalesce(md5(string_agg(t::text, '' order by t::text)), '') as all from ${table} as t`,
      ),
    ),
  )
  return parts.map(([row]) => row?.all).join()
}

/** Loads a backup in this process, as `restore --yes` does. */
export function load(url: string, file: string): Promise<BackupReport> {
  return loadBackup(url, [LATCHKEY_MIGRATIONS], {
    read: () => createReadStream(file),
    confirm: async () => {},
  })
}

/** Runs `latchkey` on a database in a folder. */
export function latchkeyOn(database: { readonly env: Readonly<Record<string, string>> }, cwd: string) {
  return (...args: readonly string[]) => runLatchkey(args, { cwd, env: { ...database.env } })
}

/** Returns a file name in a folder that no other test uses. */
export function newFile(folder: string, ending = '.sql'): string {
  return join(folder, randomBytes(4).toString('hex') + ending)
}
