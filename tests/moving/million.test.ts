/** A million tokens: time, size and memory of every command that moves them. Run it with TEST_LONG=1 on an idle machine. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createWriteStream, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { stopPostmaster } from '../../src/adapters/embedded-postgres/postmaster.ts'
import { migrate } from '../../src/adapters/postgres/migrations.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { startApp } from '../support/running-app.ts'
import { latchkeyProgram, startProcess, temporaryFolder } from '../support/running-process.ts'
import { createOldFolder, installMajor, majorOf, onOldServer } from './old-majors.ts'
import { fill, isLong, latchkeyOn, newFile } from './support.ts'

const MAX_KILOBYTES = 200_000
const TOKENS = 1_000_000

describe('a million tokens', { skip: isLong ? false : 'TEST_LONG=1 runs it' }, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let source: TestDatabase
  before(async () => {
    folder = await temporaryFolder()
    source = await createTestDatabase()
    await fill(source.url, TOKENS / 10)
  })
  after(async () => {
    await source.drop()
    folder.remove()
  })

  /** Runs a command; returns its output, its duration and the most memory that it used. */
  async function measure(args: readonly string[], env: Readonly<Record<string, string>>, cwd = folder.path) {
    const words = ['-v', process.execPath, ...latchkeyProgram.args, ...args]
    const { code, stdout, stderr, ms } = await startProcess('/usr/bin/time', words, { cwd, env: { ...env } })
      .ended
    assert.equal(code, 0, stderr)
    const read = (name: string) => Number(new RegExp(`${name}.*: ([\\d.]+)`).exec(stderr)?.[1])
    const kilobytes = read('Maximum resident')
    const seconds = Math.round(ms / 100) / 10
    return {
      stdout,
      ms,
      kilobytes,
      shown: `${seconds} s (${read('User time')} s of processor), ${kilobytes} kB`,
    }
  }

  test('are backed up and restored with less than 200 MB', async (t) => {
    const file = newFile(folder.path)
    const backup = await measure(['backup', file], source.env)
    t.diagnostic(`backup: ${backup.shown}, ${statSync(file).size} bytes`)
    const target = await createTestDatabase({ migrated: false })
    t.after(() => target.drop())
    const restore = await measure(['restore', file], target.env)
    t.diagnostic(`restore: ${restore.shown}`)
    for (const { kilobytes } of [backup, restore]) assert.ok(kilobytes < MAX_KILOBYTES, `${kilobytes} kB`)
    const [count] = await target.sql('select count(*)::int as tokens from login_tokens')
    assert.equal(count?.tokens, TOKENS)
  })

  test('of another system are imported within 60 s and 200 MB', async (t) => {
    const file = newFile(folder.path, '.csv')
    const out = createWriteStream(file)
    out.write('id,email,hash,abilities,created_at,name\n')
    for (let n = 1; n <= TOKENS; n++) {
      const hash = createHash('sha256').update(`m${n}`).digest('hex')
      const row = `${n},customer-${(n % 1000) + 1}@example.com,${hash},"[""*""]",2026-03-01 10:00:00,phone\n`
      if (!out.write(row)) await new Promise((resolve) => out.once('drain', () => resolve(null)))
    }
    await new Promise((resolve) => out.end(() => resolve(null)))
    const target = await createTestDatabase()
    t.after(() => target.drop())
    await fill(target.url, 1000, 1)
    const { stdout, ms, kilobytes, shown } = await measure(
      ['token', 'import', file, '--from', 'adonis'],
      target.env,
    )
    assert.equal(stdout, `Imported: ${TOKENS}, already there: 0, refused: 0.\n`)
    t.diagnostic(`token import: ${shown}`)
    assert.ok(kilobytes < MAX_KILOBYTES, `${kilobytes} kB`)
    assert.ok(ms < 60_000, `${ms} ms`)

    const sync = await measure(['token', 'import', file, '--from', 'adonis', '--sync'], target.env)
    t.diagnostic(`token import --sync: ${sync.shown}`)
    assert.equal(sync.stdout, `Imported: 0, already there: ${TOKENS}, refused: 0, revoked: 0.\n`)
    assert.ok(sync.kilobytes < MAX_KILOBYTES, `${sync.kilobytes} kB`)
  })

  test('of the embedded PostgreSQL 17 are upgraded within ten minutes', async (t) => {
    const missing = installMajor(folder.path, '17')
    if (missing !== null) return t.skip(missing)
    const home = await temporaryFolder()
    t.after(async () => {
      await stopPostmaster(join(home.path, 'data', 'postgres'))
      home.remove()
    })
    const prefix = join(folder.path, 'postgres-17')
    const data = createOldFolder(home.path, prefix)
    await onOldServer(home.path, prefix, '17', async (url) => {
      await migrate({ url })
      await fill(url, TOKENS / 10)
    })
    const { stdout, ms, shown } = await measure(['upgrade-data', '--old-binaries', prefix], {}, home.path)
    t.diagnostic(`upgrade-data: ${shown}; ${stdout.trim().replaceAll(home.path, '…')}`)
    assert.deepEqual([majorOf(data), majorOf(data, 'postgres-old-17')], ['18', '17'])
    assert.ok(ms < 600_000, `${ms} ms`)
  })

  test('100,000 requests with foreign tokens during repeated imports: none is rejected', async (t) => {
    const app = await startApp({ env: { FOREIGN_TOKENS: 'drf', TOKEN_CACHE_TTL: '1s' } })
    t.after(() => app.close())
    await app.addCustomer({ email: 'ana@example.com' })
    const keys = Array.from({ length: 2000 }, (_, n) => createHash('sha1').update(`k${n}`).digest('hex'))
    const file = newFile(folder.path, '.csv')
    const out = createWriteStream(file)
    out.end(`key,email\n${keys.map((key) => `${key},ana@example.com\n`).join('')}`)
    await new Promise((resolve) => out.once('close', () => resolve(null)))
    const sync = () =>
      latchkeyOn(app.database, folder.path)('token', 'import', file, '--from', 'drf', '--sync')
    assert.equal((await sync()).code, 0)
    let isOver = false
    let syncs = 0
    const syncing = (async () => {
      for (; !isOver; syncs++) assert.equal((await sync()).code, 0)
    })()
    const statuses = new Map<number, number>()
    let next = 0
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        while (next++ < 100_000) {
          const headers = { authorization: `Token ${keys[next % keys.length]}` }
          const response = await fetch(`${app.url}/api/me`, { method: 'POST', headers })
          await response.arrayBuffer()
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
        }
      }),
    )
    isOver = true
    await syncing
    t.diagnostic(`${JSON.stringify([...statuses])} during ${syncs} imports with --sync`)
    assert.deepEqual([...statuses], [[200, 100_000]])
  })
})
