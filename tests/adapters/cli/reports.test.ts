import assert from 'node:assert/strict'
import { PassThrough, Writable } from 'node:stream'
import { describe, test } from 'node:test'
import { runCli } from '../../../src/adapters/cli/run-cli.ts'
import { makeCommandLine, NOW_MS } from './command-line.ts'

describe('customer list', () => {
  test('prints a table in the order of the e-mails', async () => {
    const { run, put } = makeCommandLine()
    await put('zoe@example.com', { name: 'Zoe' })
    await put('Ana.Long.Name@example.com', { name: 'Ana', disabledAtMs: NOW_MS })
    await put('bo@example.com')
    assert.equal(
      (await run(['customer', 'list'])).stdout,
      [
        'CREATED               STATE     EMAIL                      NAME',
        '2025-01-02T03:04:05Z  disabled  Ana.Long.Name@example.com  Ana',
        '2025-01-02T03:04:05Z  active    bo@example.com',
        '2025-01-02T03:04:05Z  active    zoe@example.com            Zoe',
        '',
      ].join('\n'),
    )
  })

  test('reports that there are no customers', async () => {
    assert.deepEqual(await makeCommandLine().run(['customer', 'list']), {
      code: 0,
      stdout: '',
      stderr: 'There are no customers yet.\n',
    })
  })

  test('prints no control characters of rows that were written by hand', async () => {
    const { run, put } = makeCommandLine()
    await put('a\u001b[2J@example.com', { name: 'x\ny\u202e\u009b\u2028' })
    const { stdout } = await run(['customer', 'list'])
    assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e]/)
    assert.equal(stdout.split('\n').length, 3)
  })

  test('streams 100,000 customers page by page, with at most one page in memory', async () => {
    const customer = (n: number) => ({
      id: String(n),
      email: `${String(n).padStart(6, '0')}@example.com`,
      name: null,
      createdAtMs: NOW_MS,
      disabledAtMs: null,
    })
    const read: number[] = []
    const { operations } = makeCommandLine()
    const stdout = new PassThrough()
    let lines = 0
    stdout.on('data', (chunk: Buffer) => {
      lines += chunk.toString().split('\n').length - 1
    })
    const code = await runCli(
      ['customer', 'list'],
      {
        ...operations,
        withStore: (use) =>
          operations.withStore((store) =>
            use({
              ...store,
              async listCustomers(afterEmail, limit) {
                const first = afterEmail === null ? 0 : Number.parseInt(afterEmail, 10) + 1
                assert.ok(lines >= first, 'the page before was written')
                const count = Math.min(limit, 100_000 - first)
                read.push(count)
                return Array.from({ length: count }, (_, i) => customer(first + i))
              },
            }),
          ),
      },
      { stdin: new PassThrough(), stdout, stderr: new PassThrough() },
    )
    assert.equal(code, 0)
    assert.equal(lines, 100_001)
    assert.ok(Math.max(...read) <= 1000)
  })

  test('stops without a message when its reader has closed the pipe', async () => {
    const { operations, put, open } = makeCommandLine()
    for (let i = 0; i < 1200; i++) await put(`${i}@example.com`)
    const stdout = failingWith('EPIPE')
    const stderr = new PassThrough()
    const code = await runCli(['customer', 'list'], operations, { stdin: new PassThrough(), stdout, stderr })
    assert.deepEqual([code, stderr.read(), open.now], [0, null, 0])
  })

  test('fails in one line when its output cannot be written', async () => {
    const { operations, put } = makeCommandLine()
    await put('ana@example.com')
    const stderr = new PassThrough()
    const io = { stdin: new PassThrough(), stdout: failingWith('ENOSPC'), stderr }
    assert.equal(await runCli(['customer', 'list'], operations, io), 1)
    assert.match(String(stderr.read()), /^latchkey: ENOSPC[^\n]*\n$/)
  })
})

describe('customer show', () => {
  test('prints the customer and the active tokens, and counts the others', async () => {
    const { run, put, putToken } = makeCommandLine()
    const id = await put('ana@example.com', { name: 'Ana' })
    putToken(id, { expiresAtMs: NOW_MS + 1 })
    putToken(id, { name: 'bot' })
    putToken(id, { expiresAtMs: NOW_MS })
    putToken(id, { revokedAtMs: NOW_MS - 1 })
    assert.equal(
      (await run(['customer', 'show', 'ana@example.com'])).stdout,
      [
        'id       00000000-0000-4000-8000-000000000001',
        'email    ana@example.com',
        'name     Ana',
        'state    active',
        'created  2025-01-02T03:04:05Z',
        'tokens   2 active, 1 revoked, 1 expired',
        '',
        'ID                                    CREATED               EXPIRES               NAME   ABILITIES',
        '00000000-0000-4000-8000-000000000003  2025-01-02T03:04:05Z  never                 bot    *',
        '00000000-0000-4000-8000-000000000002  2025-01-02T03:04:05Z  2025-01-02T03:04:05Z  login  *',
        '',
      ].join('\n'),
    )
  })

  test('prints since when a customer is disabled, and no hash or digest', async () => {
    const { run, put, putToken } = makeCommandLine()
    putToken(await put('ana@example.com', { disabledAtMs: NOW_MS }))
    const { stdout } = await run(['customer', 'show', 'ana@example.com'])
    assert.match(stdout, /^state {4}disabled 2025-01-02T03:04:05Z$/m)
    assert.doesNotMatch(stdout, /hash|digest/)
  })
})

function failingWith(code: string): Writable {
  return new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error(`${code}: cannot write`), { code })),
  })
}
