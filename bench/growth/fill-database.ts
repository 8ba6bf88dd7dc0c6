import { statfs, writeFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { Client } from 'pg'
import { from } from 'pg-copy-streams'
import { bcryptPasswordHasher } from '../../src/adapters/bcrypt/password-hasher.ts'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { DatabaseRefused } from '../../src/adapters/postgres/connection/database-refused.ts'
import { withDirectClient } from '../../src/adapters/postgres/connection/direct-client.ts'
import { pendingMigrations } from '../../src/adapters/postgres/migrations.ts'
import { format } from '../statistics.ts'
import { CUSTOMER_COLUMNS, customerLines, TOKEN_COLUMNS, TOKENS_PER_CUSTOMER, tokenLines } from './rows.ts'

/** The password of every customer. */
export const PASSWORD = 'correct horse battery staple'

/** The database to fill, and the file for secrets that a load may use. */
export interface Filling {
  readonly url: string
  readonly customers: number
  /** Receives the secrets of some active login tokens, one on a line. */
  readonly tokensFile: string
  /** Called with whole percents of the expected duration. */
  readonly onProgress: (percent: number, step: string) => void
}

/** The result of a filling. */
export interface Filled {
  readonly rows: number
  readonly seconds: number
  /** Of copying, without the indexes. */
  readonly rowsPerSecond: number
}

const MAX_KNOWN = 10_000
const LINES_PER_CHUNK = 250
/** Tables and indexes, and the write-ahead log and sort files while they are created. */
const BYTES_PER_CUSTOMER = 6000

/** The shares of the duration: copying, then the indexes, then the vacuum. */
const COPIED_PERCENT = 55
const INDEXED_PERCENT = 95

/** Returns the statements that drop and create the indexes and constraints of the two tables. */
const INDEXES = `
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

/** Whether the secret of this customer's token is known. */
export function isKnown(number: number, customers: number): boolean {
  return number % stepOf(customers) === 0
}

/**
 * Fills the two tables of a migrated database that has no customers, in one transaction: after a failure the database is
 * unchanged.
 */
export async function fillDatabase({ url, customers, tokensFile, onProgress }: Filling): Promise<Filled> {
  if ((await pendingMigrations({ url })).length > 0) {
    throw new DatabaseRefused('The database is not migrated: run `latchkey migrate` first.')
  }
  const problem = await spaceProblem(url, customers)
  if (problem !== null) throw new DatabaseRefused(problem)

  const { issue } = tokenSecrets({ prefix: 'lk' })
  const known = Array.from({ length: Math.ceil(customers / stepOf(customers)) }, issue)
  const passwordHash = await bcryptPasswordHasher({ cost: 4 }).hash(PASSWORD)
  const ids = Array.from({ length: customers }, () => crypto.randomUUID())
  const rows = customers * (1 + TOKENS_PER_CUSTOMER)
  const report = reportWholePercents(onProgress)

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
      report(COPIED_PERCENT + share * (INDEXED_PERCENT - COPIED_PERCENT), `creating ${name}`)
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

/** Returns why the disk is too small for as many customers, in one line; null if it is not, or if it cannot be examined. */
export async function spaceProblem(url: string, customers: number): Promise<string | null> {
  const [row] = await withDirectClient(url, async (client) => {
    // Only some roles may read this setting.
    const shown = "select setting as folder from pg_settings where name = 'data_directory'"
    return (await client.query<{ folder: string }>(shown)).rows
  })
  if (row === undefined) return null
  // The folder of a server in a container or on another machine does not exist here.
  const disk = await statfs(row.folder).catch(() => null)
  if (disk === null) return null
  const free = disk.bavail * disk.bsize
  const needed = customers * BYTES_PER_CUSTOMER
  return free >= needed
    ? null
    : `The disk of the database has ${gigabytes(free)} GB free, and ${format(customers)} customers need ${gigabytes(needed)} GB.`
}

function stepOf(customers: number): number {
  // At least 2: logins of the other customers must not replace known tokens.
  return Math.max(2, Math.floor(customers / MAX_KNOWN))
}

// With indexes, copying takes four to five times as long. The lock prevents other inserts while constraints are missing.
async function removeIndexes(
  client: Client,
): Promise<readonly { readonly name: string; readonly create: string }[]> {
  await client.query('lock table customers, login_tokens in access exclusive mode')
  if ((await client.query('select from customers limit 1')).rowCount !== 0) {
    throw new DatabaseRefused('The database already has customers. Use an empty one.')
  }
  const { rows } = await client.query<{ name: string; remove: string; create: string }>(INDEXES)
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
      if (chunk.push(line) < LINES_PER_CHUNK) continue
      yield chunk.join('')
      onCopied(chunk.length)
      chunk = []
    }
    yield chunk.join('')
    onCopied(chunk.length)
  }
}

function reportWholePercents(onProgress: Filling['onProgress']): Filling['onProgress'] {
  let reported = ''
  return (percent, step) => {
    const whole = Math.floor(percent)
    if (reported === `${whole} ${step}`) return
    reported = `${whole} ${step}`
    onProgress(whole, step)
  }
}

function gigabytes(bytes: number): string {
  return format(bytes / 1e9, 1)
}
