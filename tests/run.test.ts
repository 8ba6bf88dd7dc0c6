import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

const runner = join(import.meta.dirname, 'run.ts')

describe('the test runner', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'latchkey-run-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  it('prints its database and its duration, and passes on success and failure', async () => {
    const passing = start(testFile('passes', ''))
    const [output, code] = await Promise.all([text(passing.stdout), waitForExit(passing)])
    assert.match(output, /^Tests use the server of TEST_DATABASE_URL, [^\n]+\.\n/)
    assert.match(output, /pass 1/)
    assert.match(output, /^The tests took \d+ s\.$/m)
    assert.equal(code, 0)
    assert.notEqual(await waitForExit(start(testFile('fails', "throw new Error('no')"))), 0)
  })

  // Public case 100
  it('refuses an unreachable database in one sentence', async () => {
    const run = start(testFile('never', ''), { TEST_DATABASE_URL: 'postgres://x:secret@127.0.0.1:1/x' })
    const [error, code] = await Promise.all([text(run.stderr), waitForExit(run)])
    assert.match(error, /^TEST_DATABASE_URL is set, and 127\.0\.0\.1:1 refuses: [^\n]*\n$/)
    assert.equal(code, 1)
  })

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // Public case 100
    it(`stops its tests at ${signal}, drops their databases and removes their folders`, {
      timeout: 30_000,
    }, async () => {
      const code = `
        const { createTestDatabase, testDatabasePrefix } = await import(${JSON.stringify(join(import.meta.dirname, 'support/database.ts'))})
        const { temporaryFolder } = await import(${JSON.stringify(join(import.meta.dirname, 'support/running-process.ts'))})
        await createTestDatabase({ migrated: false })
        const { path } = await temporaryFolder()
        console.log('READY', testDatabasePrefix(), process.pid, path)
        await new Promise((resolve) => setTimeout(resolve, 60_000))`
      const run = start(testFile(`waits-${signal}`, code))
      const [, prefix, pid, path = ''] = await untilPrinted(run, /READY (\S+) (\d+) (\S+)/)
      run.kill(signal)
      assert.equal(await waitForExit(run), 1)
      while (isAlive(Number(pid))) await sleep(50)
      const { Client } = await import('pg')
      const client = new Client({ connectionString: process.env.TEST_DATABASE_URL })
      await client.connect()
      const left = await client.query('select from pg_database where starts_with(datname, $1)', [prefix])
      await client.end()
      assert.equal(left.rowCount, 0)
      assert.equal(existsSync(path), false)
    })
  }

  it('stops in order when npm run check is interrupted, and leaves no server', {
    timeout: 120_000,
  }, async (t) => {
    const temporary = mkdtempSync(join(tmpdir(), 'latchkey-check-'))
    chmodSync(temporary, 0o755)
    t.after(() => rmSync(temporary, { recursive: true }))
    const { TEST_DATABASE_URL: _, NODE_TEST_CONTEXT: __, ...env } = process.env
    const check = spawn(
      process.execPath,
      ['--import', 'tsx', join(import.meta.dirname, 'check.ts'), 'modules', '1/1000'],
      {
        env: { ...env, TMPDIR: temporary, TEST_POSTGRES_IMAGE: 'latchkey.invalid/none:0' },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    await untilPrinted(check, /Tests use the embedded server/)
    check.kill('SIGINT')
    assert.equal(await waitForExit(check), 1)
    // The compiler of tsx keeps its cache here.
    assert.deepEqual(
      readdirSync(temporary).filter((name) => !name.startsWith('tsx-')),
      [],
    )
  })

  function testFile(name: string, code: string): string {
    const path = join(folder, `${name}.test.mts`)
    writeFileSync(path, `import { test } from 'node:test'\ntest('${name}', async () => {${code}\n})\n`)
    return path
  }
})

function start(file: string, env: NodeJS.ProcessEnv = {}) {
  return spawn(process.execPath, ['--import', 'tsx', runner, file], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function waitForExit(run: ChildProcess): Promise<unknown> {
  const [code] = await once(run, 'exit')
  return code
}

async function untilPrinted(run: ReturnType<typeof start>, pattern: RegExp): Promise<RegExpExecArray> {
  let printed = ''
  for await (const chunk of run.stdout.iterator({ destroyOnReturn: false })) {
    printed += chunk
    const match = pattern.exec(printed)
    if (match !== null) {
      run.stdout.resume()
      return match
    }
  }
  throw new Error(`It ended before it printed ${pattern}: ${printed}`)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
