import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import ts from 'typescript'
import { tryLock, waitForLock } from '../../../src/adapters/embedded-postgres/process-lock.ts'
import { startProcess } from '../../support/running-process.ts'
import { endAfter, openInProcess, preparedFolder, testFolder } from './support.ts'

const SOURCES = join(import.meta.dirname, '../../../src/adapters/embedded-postgres')
/** The program of a process that competes for the lock, as JavaScript, because it starts often. */
const PROGRAM = mkdtempSync(join(tmpdir(), 'latchkey-lock-'))
chmodSync(PROGRAM, 0o755)
for (const file of [
  join(import.meta.dirname, 'fixtures/lock-process.ts'),
  ...['process-lock', 'folder-sockets', 'linked-lock'].map((name) => join(SOURCES, `${name}.ts`)),
]) {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 }
  const { outputText } = ts.transpileModule(readFileSync(file, 'utf8'), { compilerOptions })
  const imports = outputText.replace(/from '.*\/(.*)\.ts'/g, "from './$1.mjs'")
  writeFileSync(join(PROGRAM, basename(file, '.ts').concat('.mjs')), imports, { mode: 0o644 })
}
after(() => rmSync(PROGRAM, { recursive: true }))

const ROUNDS = Number(process.env.LOCK_ROUNDS ?? 40)
const TIMEOUT_MS = 60_000
const NOBODY = { uid: 65534, gid: 65534 }

const isRoot = process.getuid?.() === 0
const onLinux = {
  skip: process.platform !== 'linux' && 'LOCKS IN FOLDERS WERE NOT TESTED: this is not Linux',
}
const withAccounts = {
  skip: onLinux.skip || (!isRoot && 'LOCKS OF OTHER ACCOUNTS WERE NOT TESTED: this is not root'),
}

test('does not change how Node resolves packages behind symbolic links', onLinux, async (t) => {
  const folder = testFolder(t)
  const packages = join(import.meta.dirname, '../../../node_modules')
  symlinkSync(packages, join(folder, 'node_modules'))
  const program = join(folder, 'program.mjs')
  const lock = join(PROGRAM, 'process-lock.mjs')
  writeFileSync(
    program,
    `import { createRequire } from 'node:module'
     import { tryLock } from ${JSON.stringify(lock)}
     await tryLock(${JSON.stringify(folder)})
     process.stdout.write(createRequire(import.meta.url).resolve('pg'), () => process.exit())`,
  )
  const { stdout } = await startProcess(process.execPath, [program], { cwd: folder }).ended
  assert.ok(stdout.startsWith(`${realpathSync(packages)}/`), stdout)
})

test(
  'has one holder while processes wait for it, release it and are killed, in a long path',
  onLinux,
  async (t) => {
    const folder = join(testFolder(t), 'a'.repeat(120), 'b'.repeat(120))
    mkdirSync(folder, { recursive: true })
    const children = new Set<ChildProcess>()
    let holder: ChildProcess | null = null
    let notify = () => {}
    function begin(): void {
      const child = startHolder(t, folder)
      children.add(child)
      child.once('exit', (code) => assert.ok(!children.has(child), `a process has ended with ${code}`))
      child.on('message', () => {
        if (!children.has(child)) return
        assert.equal(holder, null, 'two processes hold the lock')
        holder = child
        notify()
      })
    }
    async function kill(child: ChildProcess): Promise<void> {
      children.delete(child)
      if (holder === child) holder = null
      child.kill('SIGKILL')
      await once(child, 'exit')
      begin()
    }
    for (let i = 0; i < 4; i++) begin()
    for (let round = 0; round < ROUNDS; round++) {
      while (holder === null)
        await new Promise<void>((resolve) => {
          notify = resolve
        })
      const held: ChildProcess = holder
      if (round % 3 === 0) {
        holder = null
        held.send('release')
      } else await kill(held)
      // It may be removing what the holder has left.
      const [other] = children
      if (round % 5 === 0 && other !== undefined) await kill(other)
    }
    // These are killed after the test.
    children.clear()
  },
)

test('is held by a frozen process, however many have tried it', onLinux, async (t) => {
  const folder = testFolder(t)
  const holder = startHolder(t, folder)
  await once(holder, 'message')
  holder.kill('SIGSTOP')
  // More than the queue of its socket has room for.
  for (let i = 0; i < 5000; i++) assert.equal(await tryLock(folder, 'service', 'secret'), undefined)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  await (await waitForLock(folder, 'service', 'secret', TIMEOUT_MS))?.release()
  assert.deepEqual(readdirSync(folder), [])
})

test('belongs to its folder, wherever that is moved', onLinux, async (t) => {
  const home = testFolder(t)
  const [folder, moved] = [join(home, 'data'), join(home, 'moved')]
  mkdirSync(folder)
  const first = await tryLock(folder, 'service', 'secret')
  renameSync(folder, moved)
  mkdirSync(folder)
  assert.equal(await tryLock(moved, 'service', 'secret'), undefined)
  const second = await tryLock(folder, 'service', 'secret')
  await first?.release()
  assert.equal(await tryLock(folder, 'service', 'secret'), undefined)
  await second?.release()
  assert.deepEqual([readdirSync(folder), readdirSync(moved)], [[], []])
})

test('is free for the owner of the folder after a process of root was killed', withAccounts, async (t) => {
  const folder = testFolder(t)
  chownSync(folder, NOBODY.uid, NOBODY.gid)
  const holder = startHolder(t, folder)
  await once(holder, 'message')
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  await once(startHolder(t, folder, NOBODY), 'message')
})

test('has another name on a file system without sockets', withAccounts, async () => {
  const folder = '/sys/kernel'
  const first = await tryLock(folder, 'service', 'secret')
  assert.notEqual(first, undefined)
  assert.equal(await tryLock(folder, 'service', 'secret'), undefined)
  await first?.release()
})

test('cannot be occupied by another account that waits until a service ends', withAccounts, async (t) => {
  const home = await preparedFolder(t)
  const service = openInProcess(t, { home, role: 'service' })
  await service.opened()
  const squatter = startProcess(
    'setpriv',
    ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, '-e', SQUATTER],
    { cwd: '/', input: null },
  )
  t.after(async () => {
    squatter.child.kill('SIGKILL')
    await squatter.ended
  })
  await squatter.until(/^seen$/m)
  await service.kill()
  squatter.child.stdin?.write('occupy\n')
  await squatter.until(/^occupied$/m)
  const next = openInProcess(t, { home, role: 'service' })
  await next.opened()
  await next.close()
})

/** Notes every name of a socket that the machine shows, and later listens on each that it can. */
const SQUATTER = `
  const { readFileSync } = require('node:fs')
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\\n')
  const names = lines.map((line) => line.split(' ').slice(7).join(' ').trim()).filter((name) => /latchkey|lock/.test(name))
  console.log('seen')
  process.stdin.once('data', async () => {
    for (const name of new Set(names))
      await new Promise((resolve) =>
        require('node:net').createServer().once('error', resolve).listen(name.startsWith('@') ? name.replaceAll('@', '\\0') : name, resolve))
    console.log('occupied')
  })`

function startHolder(t: TestContext, folder: string, as: { uid?: number; gid?: number } = {}): ChildProcess {
  const child = fork(join(PROGRAM, 'lock-process.mjs'), [folder], { execArgv: [], ...as })
  const exited = once(child, 'exit')
  endAfter(t, async () => {
    child.kill('SIGKILL')
    await exited
  })
  return child
}
