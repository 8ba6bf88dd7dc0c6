/** Restore and upgrade on a disk that becomes full: one line for the operator, the old data unchanged, and success once there is space. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { stopPostmaster } from '../../src/adapters/embedded-postgres/postmaster.ts'
import { migrate } from '../../src/adapters/postgres/migrations.ts'
import { createTestDatabase } from '../support/database.ts'
import { temporaryFolder } from '../support/running-process.ts'
import { openSmallDisk } from '../support/small-disk.ts'
import { createOldFolder, installMajor, majorOf, onOldServer } from './old-majors.ts'
import { fill, latchkeyOn } from './support.ts'

const MEGABYTE = 2 ** 20
const MAJOR = '17'

/** Mounts a small disk with a folder for a service on it. Returns the reason if this account cannot. */
async function openHome(t: { after(work: () => Promise<void>): void }, megabytes: number) {
  const folder = await temporaryFolder()
  const disk = openSmallDisk(folder.path, megabytes)
  const home = join(folder.path, 'disk', 'home')
  t.after(async () => {
    if (typeof disk !== 'string') {
      await stopPostmaster(join(home, 'data', 'postgres'))
      disk.close()
    }
    folder.remove()
  })
  if (typeof disk === 'string') return disk
  mkdirSync(home)
  const resize = (bytes: number) =>
    execFileSync('mount', ['-o', `remount,size=${bytes}`, disk.path], { stdio: 'pipe' })
  return {
    home,
    outside: folder.path,
    latchkey: latchkeyOn({ env: {} }, home),
    /** Shrinks the disk to what is used and this many megabytes. */
    leave(free: number) {
      const { blocks, bfree, bsize } = statfsSync(disk.path)
      resize((blocks - bfree) * bsize + free * MEGABYTE)
    },
    enlarge: () => resize(megabytes * MEGABYTE),
  }
}

const ONE_LINE = /^latchkey: [^\n]*no space left on device[^\n]*\n$/i

test('a restore that fills the disk leaves the old rows, and succeeds once there is space', async (t) => {
  const disk = await openHome(t, 400)
  if (typeof disk === 'string') return t.skip(disk)
  const files: string[] = []
  for (const customers of [10, 10_000]) {
    const source = await createTestDatabase()
    t.after(() => source.drop())
    await fill(source.url, customers)
    const file = join(disk.outside, `${customers}.sql`)
    const { code, stderr } = await latchkeyOn(source, disk.outside)('backup', file)
    assert.deepEqual([code, stderr], [0, ''])
    files.push(file)
  }
  const [small = '', large = ''] = files
  const restored = await disk.latchkey('restore', small)
  assert.deepEqual([restored.code, restored.stderr], [0, ''])
  const count = async () => {
    const { code, stdout, stderr } = await disk.latchkey('customer', 'list', '--json')
    assert.deepEqual([code, stderr], [0, ''])
    return JSON.parse(stdout).customers.length
  }
  for (const free of [20, 8, 2]) {
    disk.leave(free)
    const { code, stdout, stderr } = await disk.latchkey('restore', large, '--yes')
    t.diagnostic(`${free} MB: ${stderr}`)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, ONE_LINE)
    assert.doesNotMatch(stderr, /undefined/)
    disk.enlarge()
    assert.equal(await count(), 10, `${free} MB`)
  }
  const again = await disk.latchkey('restore', large, '--yes')
  assert.deepEqual([again.code, again.stderr], [0, ''])
  assert.equal(await count(), 10_000)
})

test('an upgrade that fills the disk leaves the old data alone, and succeeds once there is space', async (t) => {
  const disk = await openHome(t, 600)
  if (typeof disk === 'string') return t.skip(disk)
  const missing = installMajor(disk.outside, MAJOR)
  if (missing !== null) return t.skip(missing)
  const prefix = join(disk.outside, `postgres-${MAJOR}`)
  const data = createOldFolder(disk.home, prefix)
  await onOldServer(disk.home, prefix, MAJOR, async (url) => {
    await migrate({ url })
    await fill(url, 10_000)
  })
  const before = readdirSync(data).filter((name) => !name.includes('log'))
  const upgrade = () => disk.latchkey('upgrade-data', '--old-binaries', prefix)
  for (const free of [1, 20, 45, 70]) {
    disk.leave(free)
    const { code, stdout, stderr } = await upgrade()
    t.diagnostic(`${free} MB: ${stderr}`)
    assert.deepEqual([code, stdout], [1, ''], `${free} MB`)
    assert.match(stderr, ONE_LINE)
    assert.deepEqual(
      readdirSync(data).filter((name) => !name.includes('log')),
      before,
    )
    assert.equal(majorOf(data), MAJOR)
    disk.enlarge()
  }
  const { code, stderr } = await upgrade()
  assert.deepEqual([code, stderr], [0, ''])
  assert.deepEqual([majorOf(data), majorOf(data, `postgres-old-${MAJOR}`)], ['18', MAJOR])
  const { stdout } = await disk.latchkey('customer', 'list', '--json')
  assert.equal(JSON.parse(stdout).customers.length, 10_000)
})
