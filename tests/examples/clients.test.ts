import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fencedBlocks } from '../support/fenced-blocks.ts'
import { type RunningApp, startApp } from '../support/running-app.ts'
import { type Ended, startProcess, temporaryFolder } from '../support/running-process.ts'

const root = join(import.meta.dirname, '../..')
const EMAIL = 'ana@example.com'
const PASSWORD = `pa"ss\\w'örd\t$HOME % 🦊 `
const DONE = `logged in and out as ${EMAIL}\n`

/** What the front answers in place of the service; null lets the request through. */
type Stub = { readonly status: number; readonly retryAfter: string } | null

interface Seen {
  readonly path: string
  readonly atMs: number
}

let clients: Awaited<ReturnType<typeof temporaryFolder>>
let app: RunningApp
let front: Awaited<ReturnType<typeof startFront>>
before(async () => {
  // A copy, for what is made of the document lies beside its client.
  clients = await temporaryFolder()
  cpSync(join(root, 'examples/clients'), clients.path, { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(clients.path, 'node_modules'))
  app = await startApp()
  front = await startFront(() => app.url)
  await app.addCustomer({ email: EMAIL, password: PASSWORD })
})
after(async () => {
  await front.close()
  await app.close()
  clients.remove()
})
beforeEach(() => front.reset())

describe('The types of the TypeScript client', () => {
  test('are made in the two commands that are told', async () => {
    const cwd = join(clients.path, 'typescript')
    const maker = fileURLToPath(new URL('bin/cli.js', import.meta.resolve('openapi-typescript/package.json')))
    const [commands = ''] = fencedBlocks('docs/clients.md', 'sh')
    const lines = commands
      .replaceAll('npx latchkey', `'${process.execPath}' '${join(root, 'bin/latchkey.js')}'`)
      .replaceAll('npx openapi-typescript', `'${process.execPath}' '${maker}'`)
    assert.equal(commands.trim().split('\n').length, 2)
    const made = await startProcess('sh', ['-eu'], { cwd, input: lines }).ended
    assert.equal(made.code, 0, made.stderr)
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const { code, stdout } = await startProcess(process.execPath, [tsc, '--project', '.'], { cwd }).ended
    assert.deepEqual([code, stdout], [0, ''])
  })
})

for (const [language, command, args] of [
  ['curl', 'sh', ['client.sh']],
  ['typescript', process.execPath, ['--import', 'tsx', 'client.ts']],
  ['python', 'python3', ['client.py']],
  ['php', 'php', ['client.php']],
] as const) {
  const missing = [command, ...(language === 'curl' ? ['curl'] : [])].find((program) => !isHere(program))
  const skip =
    missing !== undefined && `${missing} is not installed, and the client in ${language} was NOT TRIED`

  describe(`The client in ${language}`, { skip }, () => {
    const run = (different: Record<string, string> = {}): Promise<Ended> =>
      startProcess(command, args, {
        cwd: join(clients.path, language),
        env: { LATCHKEY_URL: front.url, LATCHKEY_EMAIL: EMAIL, LATCHKEY_PASSWORD: PASSWORD, ...different },
      }).ended
    const refused = ({ code, stdout, stderr }: Ended, exitCode: number, line: RegExp) => {
      assert.deepEqual([code, stdout], [exitCode, ''], stderr)
      assert.match(stderr, line)
      assert.doesNotMatch(stderr, /pa"ss|lk_/)
    }

    test('logs in, asks who it is, logs out, and says so in one line', async () => {
      const { code, stdout, stderr } = await run()
      assert.deepEqual([code, stdout, stderr], [0, DONE, ''])
      assert.deepEqual(front.paths(), ['/api/login', '/api/me', '/api/logout'])
      assert.equal(await liveTokens(), 0)
    })

    test('uses the token that it has', async () => {
      const { code, stdout } = await run({ LATCHKEY_TOKEN: await app.login(EMAIL, PASSWORD) })
      assert.deepEqual([code, stdout], [0, DONE])
      assert.deepEqual(front.paths(), ['/api/me', '/api/logout'])
      assert.equal(await liveTokens(), 0)
    })

    test('logs in again where its token was revoked', async () => {
      const token = await app.login(EMAIL, PASSWORD)
      await app.call('/api/logout', { token })
      const { code, stdout } = await run({ LATCHKEY_TOKEN: token })
      assert.deepEqual([code, stdout], [0, DONE])
      assert.deepEqual(front.paths(), ['/api/me', '/api/login', '/api/me', '/api/logout'])
      assert.equal(await liveTokens(), 0)
    })

    test('comes again when it is told to, by 429 and by 503', async () => {
      front.answer((path, count) => {
        if (count > 1) return null
        return path === '/api/login' ? { status: 429, retryAfter: '1' } : { status: 503, retryAfter: '0' }
      })
      const { code, stdout, stderr } = await run()
      assert.deepEqual([code, stdout, stderr], [0, DONE, ''])
      const paths = ['/api/login', '/api/login', '/api/me', '/api/me', '/api/logout', '/api/logout']
      assert.deepEqual(front.paths(), paths)
      const [first, second] = front.seen
      assert.ok(first && second && second.atMs - first.atMs > 950, 'the login was repeated too early')
    })

    test('gives up where it keeps being told to come again', async () => {
      front.answer(() => ({ status: 503, retryAfter: '0' }))
      refused(await run(), 1, /^latchkey: 503 unavailable, request front\n$/)
      assert.deepEqual(front.paths(), Array(4).fill('/api/login'))
    })

    test('does not wait for a quarter of an hour', async () => {
      front.answer(() => ({ status: 429, retryAfter: '890' }))
      refused(await run(), 1, /^latchkey: 429 too_many_requests, request front\n$/)
      assert.deepEqual(front.paths(), ['/api/login'])
    })

    test('tells why it was refused, and no secret', async () => {
      const wrong = await run({ LATCHKEY_PASSWORD: `${PASSWORD}!` })
      refused(wrong, 1, /^latchkey: 401 invalid_credentials, request [0-9a-f-]{36}\n$/)
      assert.deepEqual(front.paths(), ['/api/login'])
    })

    test('takes no page of somebody else for an answer', async () => {
      front.answer(() => ({ status: 200, retryAfter: '' }))
      refused(await run(), 1, /^latchkey: .+\n$/)
    })

    test('tells that nobody is there', async () => {
      refused(
        await run({ LATCHKEY_URL: 'http://127.0.0.1:1' }),
        1,
        /^latchkey: the service cannot be reached\n$/,
      )
    })

    test('calls nobody before it has its settings', async () => {
      for (const name of ['LATCHKEY_URL', 'LATCHKEY_EMAIL', 'LATCHKEY_PASSWORD']) {
        refused(await run({ [name]: '' }), 2, new RegExp(`^latchkey: set .*${name}.*\\n$`))
      }
      assert.deepEqual(front.paths(), [])
    })
  })
}

describe('The arguments of curl', { skip: !isHere('curl') && 'curl is not installed: NOT TRIED' }, () => {
  test('hold no secret, which everybody on the machine could read', async (t) => {
    const spy = await temporaryFolder()
    t.after(() => spy.remove())
    const real = spawnSync('sh', ['-c', 'command -v curl'], { encoding: 'utf8' }).stdout.trim()
    writeFileSync(
      join(spy.path, 'curl'),
      `#!/bin/sh\nprintf '%s\\n' "$@" >>'${spy.path}/arguments'\nexec '${real}' "$@"\n`,
    )
    chmodSync(join(spy.path, 'curl'), 0o755)
    const { code } = await startProcess('sh', ['client.sh'], {
      cwd: join(clients.path, 'curl'),
      env: {
        PATH: `${spy.path}:${process.env.PATH}`,
        LATCHKEY_URL: app.url,
        LATCHKEY_EMAIL: EMAIL,
        LATCHKEY_PASSWORD: PASSWORD,
      },
    }).ended
    assert.equal(code, 0)
    const seen = readFileSync(join(spy.path, 'arguments'), 'utf8')
    assert.match(seen, /\/api\/logout/)
    assert.doesNotMatch(seen, /pa"ss|lk_/)
  })
})

function isHere(program: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program]).status === 0
}

async function liveTokens(): Promise<number> {
  return (await app.database.sql('select from login_tokens where revoked_at is null')).length
}

/** A front before the service, as a balancer is one: it remembers what came, and answers in its place where it is told to. */
async function startFront(target: () => string) {
  const seen: Seen[] = []
  let stub: (path: string, count: number) => Stub = () => null
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    seen.push({ path, atMs: performance.now() })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const instead = stub(path, seen.filter((one) => one.path === path).length)
    if (instead === null) {
      const { authorization, 'content-type': type } = request.headers
      const responded = await fetch(target() + path, {
        method: request.method ?? 'GET',
        headers: {
          ...(authorization === undefined ? {} : { Authorization: authorization }),
          ...(type === undefined ? {} : { 'Content-Type': type }),
        },
        ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
      })
      response.writeHead(responded.status, { 'Content-Type': 'application/json; charset=utf-8' })
      response.end(await responded.text())
      return
    }
    const { status, retryAfter } = instead
    if (status === 200) {
      response.writeHead(200, { 'Content-Type': 'application/json' })
      response.end('{"welcome":"to the network"}')
      return
    }
    const reason = status === 429 ? 'too_many_requests' : 'unavailable'
    response.writeHead(status, { 'Content-Type': 'application/json', 'Retry-After': retryAfter })
    response.end(
      JSON.stringify({ success: false, code: status, error: 'Later.', reason, request_id: 'front' }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    paths: () => seen.map(({ path }) => path),
    answer(next: typeof stub) {
      stub = next
    },
    reset() {
      seen.length = 0
      stub = () => null
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
