import { statfs, writeFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { Client } from 'pg'
import { from } from 'pg-copy-streams'
import { bcryptPasswordHasher } from '../../src/adapters/bcrypt/password-hasher.ts'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { DatabaseRefused } from '../../src/adapters/postgres/connection/database-refused.ts'
import { withDirectClient } from '../../src/adapters/postgres/connection/direct-client.ts'
import { pendingMigrations } from '../../src/adapters/postgres/migrations.ts'
import { grouped } from '../part.ts'
import { CUSTOMER_COLUMNS, customerLines, TOKEN_COLUMNS, TOKENS_EACH, tokenLines } from './rows.ts'

/** The password of every customer. */
export const PASSWORD = 'correct horse battery staple'

/** What to fill with customers, and where the secrets go that a load may use. */
export interface Filling {
  readonly url: string
  readonly customers: number
  /** Gets the secrets of some live login tokens, one a line. */
  readonly tokensFile: string
  /** Told in whole percents of the time that it takes. */
  readonly onProgress: (percent: number, doing: string) => void
}

/** What came of it. */
export interface Filled {
  readonly rows: number
  readonly seconds: number
  /** While the rows were copied, before the indexes. */
  readonly rowsPerSecond: number
}

const MOST_KNOWN = 10_000
const LINES_A_CHUNK = 250
/** Tables, indexes, and the log and the sorting while they are made. */
const BYTES_A_CUSTOMER = 6000

/** How the time divides: copying, then the indexes, then the vacuum. */
const COPIED_PERCENT = 55
const INDEXED_PERCENT = 95

/** What the server needs so that the indexes and constraints of the two tables go away and come back. */
const RECREATED = `
  select format('alter table %s drop constraint %I', conrelid::regclass, conname) as remove,
         format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as create,
         conname as name, contype = 'f' as is_foreign
    from pg_constraint
   where conrelid in ('customers'::regclass, 'login_tokens'::regclass) and contype in ('p', 'u', 'f')
  union all
  select format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid),
         indexrelid::regclass::text, false
    from pg_index
   where indrelid in ('customers'::regclass, 'login_tokens'::regclass)
     and not exists (select from pg_constraint where conindid = indexrelid)
   order by is_foreign desc, name`

/** Whether the customer with this number has a token of which the secret is known: every so many have. */
export function isKnown(number: number, customers: number): boolean {
  return number % stepOf(customers) === 0
}

/**
 * Fills the two tables of a migrated database that has no customers. In one transaction: whatever ends it early leaves
 * the database as it was.
 */
export async function fillDatabase({ url, customers, tokensFile, onProgress }: Filling): Promise<Filled> {
  if ((await pendingMigrations({ url })).length > 0) {
    throw new DatabaseRefused('The database is not migrated: run `latchkey migrate` first.')
  }
  const problem = await roomProblem(url, customers)
  if (problem !== null) throw new DatabaseRefused(problem)

  const { issue } = tokenSecrets({ prefix: 'lk' })
  const known = Array.from({ length: Math.ceil(customers / stepOf(customers)) }, issue)
  const passwordHash = await bcryptPasswordHasher({ cost: 4 }).hash(PASSWORD)
  const ids = Array.from({ length: customers }, () => crypto.randomUUID())
  const rows = customers * (1 + TOKENS_EACH)
  const report = inWholePercents(onProgress)

  return withDirectClient(url, async (client) => {
    const beganMs = performance.now()
    await client.query('begin')
    const recreated = await removeIndexes(client)
    await writeFile(tokensFile, known.map(({ secret }) => `${secret}\n`).join(''), { mode: 0o600 })

    let copied = 0
    const onCopied = (lines: number) => {
      copied += lines
      report((copied / rows) * COPIED_PERCENT, 'copying rows')
    }
    await copy(client, `customers (${CUSTOMER_COLUMNS})`, customerLines(ids, passwordHash), onCopied)
    const digestOf = (number: number) => known[number / stepOf(customers)]?.digest
    await copy(client, `login_tokens (${TOKEN_COLUMNS})`, tokenLines(ids, digestOf), onCopied)
    const copiedMs = performance.now() - beganMs

    for (const [index, { name, create }] of recreated.entries()) {
      const share = index / recreated.length
      report(COPIED_PERCENT + share * (INDEXED_PERCENT - COPIED_PERCENT), `making ${name}`)
      await client.query(create)
    }
    await client.query('commit')
    report(INDEXED_PERCENT, 'vacuum and analyze')
    await client.query('vacuum (analyze) customers, login_tokens')
    report(100, 'filled')
    return {
      rows,
      seconds: (performance.now() - beganMs) / 1000,
      rowsPerSecond: rows / (copiedMs / 1000),
    }
  })
}

/** Why the disk is too small for so many customers, in one line, or null; null as well where it is not to be seen. */
export async function roomProblem(url: string, customers: number): Promise<string | null> {
  const [row] = await withDirectClient(url, async (client) => {
    // Not in the view for a role that may not see it.
    const shown = "select setting as folder from pg_settings where name = 'data_directory'"
    return (await client.query<{ folder: string }>(shown)).rows
  })
  if (row === undefined) return null
  // A server in a container or on another machine has a folder that is not here.
  const disk = await statfs(row.folder).catch(() => null)
  if (disk === null) return null
  const free = disk.bavail * disk.bsize
  const needed = customers * BYTES_A_CUSTOMER
  return free >= needed
    ? null
    : `The disk of the database has ${gigabytes(free)} GB free, and ${grouped(customers)} customers need ${gigabytes(needed)} GB.`
}

function stepOf(customers: number): number {
  // At least every other: logins of the others leave the known tokens as they are.
  return Math.max(2, Math.floor(customers / MOST_KNOWN))
}

// With the indexes in place it takes four to five times as long. The lock keeps out whoever would insert without them.
async function removeIndexes(
  client: Client,
): Promise<readonly { readonly name: string; readonly create: string }[]> {
  await client.query('lock table customers, login_tokens in access exclusive mode')
  if ((await client.query('select from customers limit 1')).rowCount !== 0) {
    throw new DatabaseRefused('The database has customers already: only an empty one is filled.')
  }
  const { rows } = await client.query<{ name: string; remove: string; create: string }>(RECREATED)
  for (const { remove } of rows) await client.query(remove)
  return rows.toReversed()
}

async function copy(
  client: Client,
  into: string,
  lines: Iterable<string>,
  onCopied: (lines: number) => void,
): Promise<void> {
  await pipeline(chunks, client.query(from(`copy ${into} from stdin`)))

  function* chunks() {
    let chunk: string[] = []
    for (const line of lines) {
      if (chunk.push(line) < LINES_A_CHUNK) continue
      yield chunk.join('')
      onCopied(chunk.length)
      chunk = []
    }
    yield chunk.join('')
    onCopied(chunk.length)
  }
}

function inWholePercents(onProgress: Filling['onProgress']): Filling['onProgress'] {
  let shown = ''
  return (percent, doing) => {
    const whole = Math.floor(percent)
    if (shown === `${whole} ${doing}`) return
    shown = `${whole} ${doing}`
    onProgress(whole, doing)
  }
}

function gigabytes(bytes: number): string {
  return grouped(bytes / 1e9, 1)
}
