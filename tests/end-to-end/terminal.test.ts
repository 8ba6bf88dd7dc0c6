import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  type RunningProcess,
  shellCommand,
  startProcess,
  temporaryFolder,
} from '../support/running-process.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

const ROOT = join(import.meta.dirname, '../..')
const CTRL_C = '\x03'
const SERVING = /running at/

const isUtilLinux = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux')
const skip = postgresAlone || (isUtilLinux ? false : 'script of util-linux is not installed')

/** The folder of an embedded database and the processes that still run in it. */
async function dataFolder(t: { after(act: () => void): void }) {
  const { path, remove } = await temporaryFolder()
  const processes = () =>
    execFileSync('ps', ['-e', '-o', 'pid=,args='], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes(`${path}/`) && line.includes('postgres'))
  t.after(() => {
    // A failed test may leave these processes.
    for (const line of processes()) process.kill(Number.parseInt(line, 10), 'SIGKILL')
    remove()
  })
  return { path, processes, env: { DATA_DIR: join(path, 'data'), PORT: '0', DRAIN_DELAY: '0s' } }
}

/** Runs a command line in a pseudo-terminal. Its standard input acts as the keyboard. */
function inTerminal(command: string, env: Record<string, string>): RunningProcess {
  const args = ['--quiet', '--return', '--command', command, '/dev/null']
  return startProcess('script', args, { cwd: ROOT, env, input: null })
}

for (const workers of ['1', '2'])
  describe(`npm start with WORKERS=${workers}`, { skip }, () => {
    test('shuts down with its database at Ctrl-C in a terminal', async (t) => {
      const { env, processes } = await dataFolder(t)
      const terminal = inTerminal('exec npm start', { ...env, WORKERS: workers })
      await terminal.until(SERVING)
      assert.notEqual(processes().length, 0)
      terminal.child.stdin?.write(CTRL_C)
      const { code, stdout } = await terminal.ended
      assert.match(stdout, /service\.stopped/)
      assert.deepEqual(processes(), [])
      assert.equal(code, 0)
    })

    test('shuts down at Ctrl-C while it starts', async (t) => {
      const { env, path, processes } = await dataFolder(t)
      const terminal = inTerminal('exec npm start', { ...env, WORKERS: workers })
      // At this point it prepares the files of its database.
      await until(() => existsSync(join(path, 'data')))
      terminal.child.stdin?.write(CTRL_C)
      const { stdout } = await terminal.ended
      assert.doesNotMatch(stdout, /could not be prepared|A worker ended/)
      // A start that takes ten more seconds fails the test.
      if (!stdout.includes('ended_at_once')) assert.deepEqual(processes(), [])
    })

    test('shuts down at a SIGTERM to the whole process group, as timeout sends it', async (t) => {
      const { env, processes } = await dataFolder(t)
      const service = startProcess('npm', ['start'], {
        cwd: ROOT,
        env: { ...env, WORKERS: workers },
        detached: true,
      })
      await service.until(SERVING)
      const { pid = 0 } = service.child
      for (const target of [pid, -pid]) process.kill(target, 'SIGTERM')
      const { stdout } = await service.ended
      assert.match(stdout, /"service\.stopped"/)
      assert.deepEqual(processes(), [])
    })

    for (const signals of [[], ['SIGTERM']] as const)
      test(`exits with 0 when its terminal is closed${['', ' while it drains'][signals.length]}`, async (t) => {
        const { env, path, processes } = await dataFolder(t)
        const exitCode = join(path, 'exit-code')
        const serve = `${shellCommand('serve')} & echo "process $!"; wait $!; echo $? > ${exitCode}`
        const terminal = inTerminal(`trap '' HUP; ${serve}`, { ...env, WORKERS: workers, DRAIN_DELAY: '1s' })
        const pid = Number((await terminal.until(/process (\d+)/))[1])
        let isOver = false
        t.after(() => {
          // A failed test may leave this process.
          if (!isOver) process.kill(pid, 'SIGKILL')
        })
        await terminal.until(SERVING)
        for (const signal of signals) {
          process.kill(pid, signal)
          await terminal.until(/service\.stopping/)
        }
        terminal.child.kill('SIGKILL')
        await terminal.ended
        // A shell does so when its terminal closes.
        process.kill(pid, 'SIGHUP')
        await until(() => existsSync(exitCode) && readFileSync(exitCode, 'utf8') !== '')
        isOver = true
        assert.equal(readFileSync(exitCode, 'utf8'), '0\n')
        assert.deepEqual(processes(), [])
      })
  })
