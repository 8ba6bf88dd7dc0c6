import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { firstSteps, firstWelcome, laterWelcome } from '../../../src/adapters/cli/welcome.ts'

const url = 'http://127.0.0.1:3000'
const dataDir = '/srv/latchkey/data'
const command = 'npx latchkey'
const demo = { email: 'demo@example.com', password: 'aZ3kQ9mB7xT2pL5w' }

describe('The welcome text', () => {
  test('shows address, data folder and demo customer at the first start', () => {
    const welcome = firstWelcome({ url, dataDir, demo, command })
    for (const part of [url, dataDir, demo.email, demo.password, 'customer add'])
      assert.ok(welcome.includes(part), part)
  })

  test('shows address, data folder and how to add a customer at later starts', () => {
    const welcome = laterWelcome({ url, dataDir, command })
    for (const part of [url, dataDir, 'latchkey customer add <email>', 'README.md', 'and its database'])
      assert.ok(welcome.includes(part), part)
  })

  test('shows the docs page if there is one, and the bound address if clients use another', () => {
    const start = { url: 'https://api.example.com', dataDir: null, command }
    const welcome = laterWelcome({ ...start, address: 'http://127.0.0.1:43121', hasDocs: true })
    assert.match(welcome, /^ {4}docs {7}https:\/\/api\.example\.com\/docs$/m)
    assert.match(welcome, /^ {4}listening {2}http:\/\/127\.0\.0\.1:43121$/m)
    assert.doesNotMatch(laterWelcome({ ...start, address: start.url, hasDocs: false }), /docs|listening/)
    assert.match(firstWelcome({ url, dataDir, demo, command, hasDocs: true }), /:3000\/docs$/m)
  })

  test('shows no data folder when the database is not the embedded one', () => {
    assert.doesNotMatch(laterWelcome({ url, dataDir: null, command }), /data|null/)
  })

  test('lists the commands of the running program in a column', () => {
    const own = laterWelcome({ url, dataDir: null, command: 'node --import tsx my-service.ts' })
    assert.match(own, /^ {2}node --import tsx my-service\.ts customer add <email> {3}adds a customer$/m)
    assert.match(own, /^ {2}node --import tsx my-service\.ts --help {17}lists the other commands/m)
    assert.doesNotMatch(own, /npx/)
  })

  test('fits into 80 columns', () => {
    const lines =
      `${firstWelcome({ url, dataDir, demo, command })}${laterWelcome({ url, dataDir, command })}`.split('\n')
    assert.deepEqual(
      lines.filter((line) => line.length > 80 || line !== line.trimEnd()),
      [],
    )
  })
})

describe('The tour of the welcome text', () => {
  test('logs in, calls me, logs out and calls me again when it is pasted into a POSIX shell', async (t) => {
    if (spawnSync('curl', ['--version']).error) return t.skip('curl is not installed')
    const server = createServer(async (request, response) => {
      const body = await text(request)
      heard.push([request.method, request.url, request.headers.authorization, body])
      response.end(
        request.url === '/api/login'
          ? '{"success":true,"token":"lk_abc","expires_at":null}'
          : '{"success":true}',
      )
    })
    const heard: unknown[] = []
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const odd = { email: "o'hara@example.com", password: 'a"b\\c$HOME`id`!' }
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', firstSteps(base, odd)])
    server.close()
    assert.deepEqual([stdout, stderr], ['{"success":true}\n'.repeat(3), ''])
    assert.deepEqual(heard, [
      ['POST', '/api/login', undefined, JSON.stringify(odd)],
      ['POST', '/api/me', 'Bearer lk_abc', ''],
      ['POST', '/api/logout', 'Bearer lk_abc', ''],
      ['POST', '/api/me', 'Bearer lk_abc', ''],
    ])
  })

  test('is the text printed in the welcome, indented', () => {
    const welcome = firstWelcome({ url, dataDir, demo, command })
    assert.ok(welcome.replaceAll(/^ {4}/gm, '').includes(firstSteps(url, demo)))
  })
})
