import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { callAt } from '../../src/testing/call.ts'
import { programSuite } from '../support/program-suite.ts'
import {
  latchkeyProgram,
  type RunningProcess,
  shellCommand,
  startProcess,
} from '../support/running-process.ts'
import { onSqlite } from '../support/sqlite.ts'

const hasScript = spawnSync('script', ['--version']).status === 0

const [OLD, NEW] = ['old', 'new'].map((name) => `secret-of-the-${name}-service-token-012345`) as [
  string,
  string,
]

const suite = programSuite()
const path = (name: string) => join(suite.folder(), name)
const write = (...pairs: readonly string[]) => writeFileSync(path('tokens'), `${pairs.join('\n')}\n`)

/** Uses a new connection, so that any worker may get it. */
const status = async (url: string, token: string) =>
  (await callAt(url, '/api/status', { method: 'GET', token, headers: { Connection: 'close' } })).status

const statuses = async (url: string, token: string) => {
  const all = await Promise.all(Array.from({ length: 30 }, () => status(url, token)))
  return [...new Set(all)]
}

/** Sends SIGHUP, waits for the log event and returns the lines logged since. */
async function reload(service: RunningProcess, event: string): Promise<string> {
  const before = service.stdout().length
  service.child.kill('SIGHUP')
  const logged = new RegExp(`^[^]{${before},}?("event":"${event}"[^\\n]*)\\n`)
  await service.until(logged)
  return service.stdout().slice(before)
}

/** Sends requests continuously with the tokens that `valid` returns. `end` resolves with every status except 200. */
function stream(url: string, valid: () => readonly string[]) {
  let isOver = false
  let requestCount = 0
  const refused: number[] = []
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      for (const token of valid()) {
        requestCount++
        const code = await status(url, token)
        if (code !== 200) refused.push(code)
      }
    }
  })
  return {
    requestCount: () => requestCount,
    async end() {
      isOver = true
      await Promise.all(clients)
      return refused
    },
  }
}

for (const [title, workers] of [
  ['a service', '1'],
  ['a service of three workers', '3'],
] as const) {
  describe(`${title} that gets SIGHUP`, () => {
    afterEach(() => rmSync(path('.env'), { force: true }))
    const start = (env: Record<string, string> = {}) =>
      suite.start({
        WORKERS: workers,
        // Workers on SQLite do not publish changes to each other.
        ...(onSqlite && workers !== '1' ? { TOKEN_CACHE_TTL: '0s' } : {}),
        SERVICE_TOKENS_FILE: path('tokens'),
        ...env,
      })

    test('replaces its service tokens without refusing a valid one', async (t) => {
      write(`monitor=${OLD}`)
      const { service, url } = await start()
      let valid = [OLD]
      const requests = stream(url, () => valid)
      t.after(() => requests.end())
      while (requests.requestCount() < 100) await sleep(5)
      write(`monitor=${OLD}`, `monitor-2=${NEW}`)
      const lines = await reload(service, 'settings.reloaded')
      assert.match(lines, /"service_tokens":\["monitor","monitor-2"\],"event":"service\.tokens_set"/)
      valid = [OLD, NEW]
      assert.deepEqual([await statuses(url, OLD), await statuses(url, NEW)], [[200], [200]])
      valid = [NEW]
      // Every request that began with the old token has ended.
      const before = requests.requestCount()
      while (requests.requestCount() < before + 50) await sleep(5)
      write(`monitor-2=${NEW}`)
      await reload(service, 'settings.reloaded')
      assert.deepEqual([await statuses(url, OLD), await statuses(url, NEW)], [[401], [200]])
      assert.deepEqual(await requests.end(), [])
      assert.doesNotMatch(service.stdout() + service.stderr(), /secret-of-the/)
      t.diagnostic(`${requests.requestCount()} requests`)
    })

    if (workers === '1')
      test('keeps all settings if one is invalid, and logs it in one line', async () => {
        write(`monitor=${OLD}`)
        const { service, url } = await start()
        write('monitor=short', `other=${NEW}`)
        writeFileSync(path('.env'), 'LOG_LEVEL=silent\n')
        const lines = await reload(service, 'settings.refused')
        assert.match(
          lines,
          /^{"level":"error",[^\n]*SERVICE_TOKENS_FILE: The secret of \\"monitor\\" must have[^\n]*\n$/,
        )
        assert.deepEqual([await statuses(url, OLD), await statuses(url, NEW)], [[200], [401]])
        rmSync(path('tokens'))
        assert.match(await reload(service, 'settings.refused'), /Names a file that does not exist/)
        assert.equal(await status(url, OLD), 200)
        write(`other=${NEW}`)
        rmSync(path('.env'))
        await reload(service, 'settings.reloaded')
        assert.deepEqual([await statuses(url, OLD), await statuses(url, NEW)], [[401], [200]])
      })

    if (workers !== '1')
      test('applies the LOG_LEVEL from .env', async () => {
        write(`monitor=${OLD}`)
        const { service, url } = await start({ ACCESS_LOG: 'all' })
        const countRequestLines = () => service.stdout().match(/"event":"request"/g)?.length ?? 0
        const waitForRequestLines = async (count: number) => {
          for (
            const endMs = performance.now() + 30_000;
            countRequestLines() < count && performance.now() < endMs;
          )
            await sleep(20)
          assert.equal(countRequestLines(), count)
        }
        await statuses(url, NEW)
        await waitForRequestLines(30)
        writeFileSync(path('.env'), 'LOG_LEVEL=warn\n')
        await reload(service, 'service.tokens_set')
        await statuses(url, NEW)
        writeFileSync(path('.env'), 'LOG_LEVEL=info\n')
        await reload(service, 'settings.reloaded')
        await statuses(url, NEW)
        await waitForRequestLines(60)
      })
  })
}

test('a service whose terminal is closed shuts down', {
  skip: hasScript ? false : 'script is not installed',
}, async () => {
  const terminal = startProcess(
    'script',
    ['--quiet', '--command', `echo "process $$"; exec ${shellCommand()}`, path('typescript')],
    {
      cwd: suite.folder(),
      env: { ...latchkeyProgram.env, ...suite.database().env, PORT: '0' },
      input: null,
    },
  )
  const pid = Number((await terminal.until(/process (\d+)/))[1])
  await terminal.until(/running at/)
  terminal.child.kill('SIGKILL')
  const isThere = () => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }
  for (const endMs = performance.now() + 30_000; isThere() && performance.now() < endMs; ) await sleep(20)
  const stayed = isThere()
  if (stayed) process.kill(pid, 'SIGKILL')
  assert.equal(stayed, false)
  // It closed its database connections.
  if (onSqlite) return
  const left = await suite
    .database()
    .sql(
      "select from pg_stat_activity where datname = current_database() and application_name like 'latchkey%'",
    )
  assert.deepEqual(left, [])
})
