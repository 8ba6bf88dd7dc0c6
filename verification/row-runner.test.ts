import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sendRaw } from '../tests/support/raw-http.ts'
import { temporaryFolder } from '../tests/support/running-process.ts'
import { createRowRunner, type RowRunner } from './row-runner.ts'
import { flawOf } from './wire.ts'
import { tapResponses } from './wiretap.ts'

const root = join(import.meta.dirname, '..')
const serverUrl = process.env.TEST_DATABASE_URL ?? ''

function runPlanted(runner: RowRunner, id: string, timeoutMs = 60_000) {
  const rows = 'verification/fixtures/planted-rows.ts'
  return runner.run({ serverUrl, tree: root, rows, id, size: 'ci', timeoutMs })
}

describe('The requirements of every row', () => {
  let runner: RowRunner
  before(() => {
    runner = createRowRunner()
  })
  after(() => runner.close())

  test('pass for a correct row', async () => {
    assert.deepEqual(await runPlanted(runner, 'nothing'), { trials: 1, failures: 0, examples: [], notes: [] })
  })

  for (const [planted, ...sentences] of [
    ['handles', /left behind: .*1 Timeout/, /left behind: .*[12] TCPSocketWrap/],
    ['connection', /1 connections to the database were left/],
    ['secret', /a token in the log/],
    ['bug', /on the wire: .*"code":500/, /logged: .*request\.failed/],
    ['pool', /4 connections in a pool of 3/],
    ['exception', /uncaught: Error: planted/],
    ['rejection', /unhandled: Error: planted/],
    ['death', /the process ended by SIGKILL/],
  ] as const) {
    test(`reveal a planted ${planted}`, async () => {
      const { failures, examples } = await runPlanted(runner, planted)
      assert.ok(failures > 0)
      for (const sentence of sentences) assert.match(examples.join('\n'), sentence)
    })
  }

  test('cover malformed responses on the wire, in order, also to HEAD', async () => {
    const server = createServer((request, response) => {
      response.setHeader('Content-Length', 4)
      response.end(request.method === 'HEAD' ? undefined : 'bare')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const heard: string[] = []
    const untap = tapResponses(port, (response, method) =>
      heard.push(`${method}: ${response.body}: ${flawOf(response)}`),
    )
    try {
      const head = (method: string) => `${method} / HTTP/1.1\r\nHost: a\r\n\r\n`
      await sendRaw(port, `${head('GET')}${head('HEAD')}${head('POST')}`, { quietMs: 200 })
      const flaw = 'headers of 200'
      assert.deepEqual(heard, [`GET: bare: ${flaw}`, `HEAD: : ${flaw}`, `POST: bare: ${flaw}`])
    } finally {
      untap()
      server.close()
      server.closeAllConnections()
    }
  })
})

describe('The remains of a row are removed', { skip: isLinux() }, () => {
  test('when it exceeds its time limit', async () => {
    const folder = await temporaryFolder()
    try {
      const runner = createRowRunner(folder.path)
      const outcome = runPlanted(runner, 'hang', 8000)
      await untilServerIn(folder.path)
      assert.match((await outcome).examples.join(), /the process ended by SIGKILL/)
      assert.deepEqual(processesIn(folder.path), [])
      runner.close()
      assert.deepEqual(readdirSync(folder.path), [])
    } finally {
      folder.remove()
    }
  })

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`when the proof is stopped by ${signal}`, async () => {
      const folder = await temporaryFolder()
      try {
        const proof = spawn(
          process.execPath,
          [
            '--import',
            'tsx',
            join(root, 'verification/run.ts'),
            '--row',
            'H2',
            '--size',
            'release',
            '--no-mutants',
          ],
          { cwd: root, env: { ...process.env, TMPDIR: folder.path }, stdio: 'ignore' },
        )
        await untilServerIn(folder.path)
        proof.kill(signal)
        const [code] = await once(proof, 'exit')
        assert.equal(code, 1)
        assert.deepEqual(processesIn(folder.path), [])
        assert.deepEqual(
          readdirSync(folder.path).filter((name) => name.startsWith('latchkey')),
          [],
        )
      } finally {
        folder.remove()
      }
    })
  }
})

function isLinux(): false | string {
  return process.platform === 'linux' ? false : 'the processes of a folder are read from /proc'
}

async function untilServerIn(folder: string): Promise<void> {
  for (const endMs = performance.now() + 60_000; ; await sleep(20)) {
    if (processesIn(folder).length > 3) return
    assert.ok(performance.now() < endMs, 'no server came up')
  }
}

/** Names of the processes that work below a folder. */
function processesIn(folder: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)
        ? [readFileSync(`/proc/${pid}/comm`, 'utf8')]
        : []
    } catch {
      return []
    }
  })
}
