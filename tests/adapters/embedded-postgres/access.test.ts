import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  eventually,
  openHere,
  postmastersOf,
  preparedFolder,
  query,
  serverProcessesOf,
  testFolder,
} from './support.ts'

const isRoot = process.getuid?.() === 0
const longName = `${'long-'.repeat(20)}end`

test('the server is reachable only by the socket in the closed folder, and only with the password', async (t) => {
  const home = await preparedFolder(t)
  const service = openHere(t, { home, role: 'service' })
  const { url, dataDir } = await service.opened()
  const [postmaster = 0] = postmastersOf(join(dataDir, 'postgres'))
  assert.deepEqual(listeningAddresses(postmaster), [])
  await assert.rejects(query(url.replace(/:[^:@]+@/, ':password@'), 'select 1'), { code: '28P01' })
  const modes = [dataDir, join(dataDir, 'postgres'), join(dataDir, 'password'), join(dataDir, 'postgres.log')]
  assert.deepEqual(
    modes.map((path) => (statSync(path).mode & 0o777).toString(8)),
    ['700', '700', '600', '600'],
  )
  assert.match(readFileSync(join(dataDir, 'password'), 'utf8'), /^[\w-]{43}\n$/)
  const socket = join(dataDir, 'postgres', '.s.PGSQL.5432')
  if (isRoot) {
    const stranger = `require('net').connect(${JSON.stringify(socket)}).on('error', e => console.log(e.code))`
    const output = execFileSync(process.execPath, ['-e', stranger], {
      uid: 65534,
      gid: 65534,
      encoding: 'utf8',
    })
    assert.equal(output, 'EACCES\n')
  }
  await service.close()
  t.diagnostic('0 TCP listeners, 1 of 1 wrong passwords and 1 of 1 strangers refused, modes 700 700 600 600')
})

test('the server listens only on 127.0.0.1 when the path is too long for a socket', async (t) => {
  const home = await preparedFolder(t)
  const cluster = join(home, longName, 'postgres')
  renameSync(join(home, 'data'), join(home, longName))
  const service = openHere(t, { home, dataDir: longName, role: 'service' })
  const { url } = await service.opened()
  const { hostname, port } = new URL(url)
  assert.equal(hostname, '127.0.0.1')
  const [postmaster = 0] = postmastersOf(cluster)
  assert.deepEqual(listeningAddresses(postmaster), [`127.0.0.1:${port}`])
  await assert.rejects(query(url.replace(/:[^:@]+@/, ':password@'), 'select 1'), { code: '28P01' })

  process.kill(postmaster, 'SIGKILL')
  await service.fact((fact) => fact.event === 'embedded_postgres.restarted')
  assert.deepEqual(await query(url, 'select 1 as one'), [{ one: 1 }])
  await service.close()
  t.diagnostic('1 listener, on 127.0.0.1; the same port after a restart')
})

// Public case 100
test('a port that is in use at a later start is replaced by another', async (t) => {
  const home = await preparedFolder(t)
  const cluster = join(home, longName, 'postgres')
  renameSync(join(home, 'data'), join(home, longName))
  const command = openHere(t, { home, dataDir: longName, role: 'command' })
  const { url } = await command.opened()
  const [postmaster = 0] = postmastersOf(cluster)
  process.kill(postmaster, 'SIGKILL')
  await eventually(() => assert.deepEqual(serverProcessesOf(cluster), []))
  const port = Number(new URL(url).port)
  const taker = createServer().listen(port, '127.0.0.1')
  t.after(() => taker.close())
  const next = openHere(t, { home, dataDir: longName, role: 'command' })
  const moved = (await next.opened()).url
  assert.notEqual(new URL(moved).port, String(port))
  assert.deepEqual(await query(moved, 'select 1 as one'), [{ one: 1 }])
  await next.close()
  assert.deepEqual(serverProcessesOf(cluster), [])
  t.diagnostic('port taken: 1 of 1 started on another')
})

test('a data folder of another major version is refused in one line', async (t) => {
  const home = await preparedFolder(t)
  writeFileSync(join(home, 'data', 'postgres', 'PG_VERSION'), '17\n')
  const message = await openHere(t, { home, role: 'service' }).refusal()
  assert.match(
    message,
    /is of PostgreSQL 17, but this Latchkey contains PostgreSQL 18\. Run: npm install --prefix .*upgrade-data/,
  )
  assert.doesNotMatch(message, /\n/)
})

test('a missing or wrong password file is refused in one line and leaves no server running', async (t) => {
  const home = await preparedFolder(t)
  const cluster = join(home, 'data', 'postgres')
  const file = join(home, 'data', 'password')
  writeFileSync(file, `${'another-'.repeat(6).slice(0, 43)}\n`)
  assert.match(
    await openHere(t, { home, role: 'service' }).refusal(),
    /^The password in .* is not the password of/,
  )
  assert.deepEqual(postmastersOf(cluster), [])
  rmSync(file)
  assert.match(await openHere(t, { home, role: 'service' }).refusal(), /^The password file .* is missing/)
})

for (const [kind, text] of [
  ['empty', ''],
  ['of another program', 'hunter2\n'],
  ['cut off', 'BgXmgVvjHqtw'],
  ['of several lines', `${'a'.repeat(43)}\n${'b'.repeat(43)}\n`],
  ['binary', Buffer.from([0, 255, 254, 1])],
] as const)
  test(`a password file that is ${kind} is refused by name before a server starts`, async (t) => {
    const home = await preparedFolder(t)
    const file = join(home, 'data', 'password')
    writeFileSync(file, text)
    rmSync(join(home, 'data', 'postgres.log'))
    const message = await openHere(t, { home, role: 'service' }).refusal()
    assert.match(message, /^The password file (\S+) does not hold a password of Latchkey\. [^\n]*$/)
    assert.ok(message.includes(file))
    assert.equal(existsSync(join(home, 'data', 'postgres.log')), false)
  })

test('a password file in a new folder is not adopted', async (t) => {
  const home = testFolder(t)
  mkdirSync(join(home, 'data'), { mode: 0o700 })
  writeFileSync(join(home, 'data', 'password'), 'hunter2\n')
  assert.match(
    await openHere(t, { home, role: 'service' }).refusal(),
    /^The password file .* does not hold a password/,
  )
  assert.deepEqual(readdirSync(join(home, 'data')), ['password'])
})

test('a folder that contains other files is refused', async (t) => {
  const home = testFolder(t)
  mkdirSync(join(home, 'data', 'photos'), { recursive: true })
  const before = statSync(join(home, 'data'))
  assert.match(
    await openHere(t, { home, role: 'service' }).refusal(),
    /holds other files and no Latchkey data/,
  )
  assert.deepEqual(readdirSync(join(home, 'data')), ['photos'])
  assert.equal(statSync(join(home, 'data')).mode, before.mode)
})

test('a server in the folder that is not visible to this process is refused, and no second one is started', async (t) => {
  const home = await preparedFolder(t)
  const cluster = join(home, 'data', 'postgres')
  const server = createServer().listen(join(cluster, '.s.PGSQL.5432'))
  t.after(() => server.close())
  await eventually(
    () =>
      new Promise<void>((resolve, reject) => {
        const socket = connect(join(cluster, '.s.PGSQL.5432'), () => resolve(socket.destroy() && undefined))
        socket.once('error', reject)
      }),
  )
  assert.match(
    await openHere(t, { home, role: 'service' }).refusal(),
    /is in use by a server that .* cannot see/,
  )
})

/** Returns the TCP addresses that a process listens on, by its open descriptors. */
function listeningAddresses(pid: number): string[] {
  const table = ['tcp', 'tcp6'].flatMap((name) =>
    readFileSync(`/proc/${pid}/net/${name}`, 'utf8').split('\n').slice(1),
  )
  const inodes = execFileSync('ls', ['-l', `/proc/${pid}/fd`], { encoding: 'utf8' })
  return table.flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
    if (state !== '0A' || !inodes.includes(`socket:[${inode}]`)) return []
    const [address = '', port = ''] = local.split(':')
    const bytes =
      address
        .match(/../g)
        ?.reverse()
        .map((byte) => Number.parseInt(byte, 16)) ?? []
    return [`${bytes.join('.')}:${Number.parseInt(port, 16)}`]
  })
}

test('a database that was made group-writable is refused with the command that corrects it', async (t) => {
  const home = await preparedFolder(t)
  const cluster = join(home, 'data', 'postgres')
  chmodSync(cluster, 0o770)
  const refusal = await openHere(t, { home, role: 'service' }).refusal()
  const command = /Run: (chmod .*)$/.exec(refusal)?.[1] ?? ''
  assert.ok(command.includes(join(home, 'data')), refusal)
  execFileSync('sh', ['-c', command])
  await openHere(t, { home, role: 'service' }).opened()
})

test('a database that root has copied is refused with the command that corrects it', {
  skip: process.getuid?.() !== 0,
}, async (t) => {
  const home = await preparedFolder(t)
  const data = join(home, 'data')
  execFileSync('chown', ['-R', '0:0', data])
  const refusal = await openHere(t, { home, role: 'service' }).refusal()
  const command = /Run as root: (chown .*)$/.exec(refusal)?.[1] ?? ''
  assert.ok(command.includes(data), refusal)
  execFileSync('sh', ['-c', command])
  await openHere(t, { home, role: 'service' }).opened()
})
