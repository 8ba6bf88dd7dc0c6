import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { makeCommandLine, NOW_MS } from './command-line.ts'

const DAY_MS = 86_400_000

describe('token create', () => {
  test('prints only the secret, and says on standard error that it is shown once', async () => {
    const { run, put, store } = makeCommandLine()
    const customerId = await put('ana@example.com')
    const args = ['--name', 'importer', '--ability', 'orders:read', '--ability', 'orders:write']
    const outcome = await run(['token', 'create', 'ANA@example.com', ...args, '--expires', '90d'])
    assert.deepEqual(outcome, {
      code: 0,
      stdout: 'secret-1\n',
      stderr: 'The token importer. It is shown only once:\n',
    })
    assert.deepEqual(store.tokens.get('digest-of-1'), {
      id: '00000000-0000-4000-8000-000000000002',
      customerId,
      name: 'importer',
      abilities: ['orders:read', 'orders:write'],
      createdAtMs: NOW_MS,
      expiresAtMs: NOW_MS + 90 * DAY_MS,
      revokedAtMs: null,
      lastUsedAtMs: null,
      device: null,
    })
  })

  test('grants nothing and never expires by default', async () => {
    const { run, put, store } = makeCommandLine()
    await put('ana@example.com')
    assert.equal((await run(['token', 'create', 'ana@example.com', '--name', 'bot'])).code, 0)
    const [token] = store.tokens.values()
    assert.deepEqual([token?.abilities, token?.expiresAtMs], [[], null])
  })

  // Public case 055
  test('names a past time as the example where a past one is needed', async () => {
    const { stderr } = await makeCommandLine().run(['token', 'revoke', '--issued-before', 'soon'])
    assert.match(
      stderr,
      /a duration such as 2h, a date such as 2025-01-31, or a time such as 2025-01-31T12:00:00Z\.$/m,
    )
  })

  test('refuses a time that is past, unreadable or invalid, with the reason', async () => {
    const { run, put, store } = makeCommandLine()
    await put('ana@example.com')
    for (const [expires, reason] of [
      ['2020-01-01', /future/],
      ['2025-01-02T03:04:05.678Z', /future/],
      ['tomorrow', /such as 90d/],
      ['', /such as 90d/],
      ['-1d', /such as 90d/],
      ['1.5d', /such as 90d/],
      ['2030-1-1', /such as 90d/],
      ['2030-01-31T12:00', /such as 90d/],
      ['2030-02-30', /valid date/],
      ['2030-13-01', /valid date/],
      ['2030-00-10', /valid date/],
      ['2029-02-29', /valid date/],
      ['2030-01-01T24:00Z', /valid date/],
      ['2030-01-01T12:60:00Z', /valid date/],
      ['2030-01-01T12:00:00+24:00', /valid date/],
      ['0d', /future/],
      ['0', /such as 90d/],
      ['3651d', /at most 3650d/],
      ['99999999999999999999d', /at most 3650d/],
      ['9999-12-31T23:59:59-12:00', /after the year 9999/],
      ['9999-12-31T23:59:59.999-00:01', /after the year 9999/],
      ['10000-01-01', /such as 90d/],
    ] as const) {
      const { code, stdout, stderr } = await run([
        'token',
        'create',
        'ana@example.com',
        '--name',
        'bot',
        `--expires=${expires}`,
      ])
      assert.deepEqual([code, stdout], [1, ''], expires)
      assert.match(stderr, /^latchkey: --expires [^\n]*\n$/, expires)
      assert.match(stderr, reason, expires)
    }
    assert.equal(store.tokens.size, 0)
  })

  test('takes a date as its start in UTC, and a time with its zone', async () => {
    for (const [expires, atMs] of [
      ['2028-02-29', Date.UTC(2028, 1, 29)],
      ['2030-01-31T12:00Z', Date.UTC(2030, 0, 31, 12)],
      ['2030-01-31T12:00:01.5+02:30', Date.UTC(2030, 0, 31, 9, 30, 1, 500)],
      ['2030-01-31t23:30:00-01:00', Date.UTC(2030, 1, 1, 0, 30)],
      ['1ms', NOW_MS + 1],
      ['12h', NOW_MS + DAY_MS / 2],
    ] as const) {
      const { run, put, store } = makeCommandLine()
      await put('ana@example.com')
      const { code } = await run([
        'token',
        'create',
        'ana@example.com',
        '--name',
        'bot',
        '--expires',
        expires,
      ])
      assert.deepEqual([code, [...store.tokens.values()][0]?.expiresAtMs], [0, atMs], expires)
    }
  })

  test('refuses an invalid name or ability, and an unknown or disabled customer, in one line', async () => {
    const { run, put, store } = makeCommandLine()
    await put('ana@example.com')
    await put('off@example.com', { disabledAtMs: 1 })
    for (const [email, args, reason] of [
      ['ana@example.com', ['--name', 'login'], /^latchkey: name: .*login/],
      ['ana@example.com', ['--name', ''], /^latchkey: name: /],
      ['ana@example.com', ['--name', 'bot', '--ability', 'a b'], /^latchkey: abilities: /],
      ['nobody@example.com', ['--name', 'bot'], /^latchkey: There is no customer nobody@example\.com\./],
      ['off@example.com', ['--name', 'bot'], /^latchkey: The customer off@example\.com is disabled/],
    ] as const) {
      const { code, stdout, stderr } = await run(['token', 'create', email, ...args])
      assert.deepEqual([code, stdout, stderr.split('\n').length], [1, '', 2])
      assert.match(stderr, reason)
    }
    assert.equal(store.tokens.size, 0)
    assert.equal((await run(['token', 'create', 'ana@example.com'])).code, 2)
    assert.equal((await run(['token', 'create', '--name', 'bot'])).code, 2)
  })
})

describe('token list', () => {
  test('prints a customer’s tokens in every state, newest first, without secrets', async () => {
    const { run, put, putToken } = makeCommandLine()
    const id = await put('ana@example.com')
    await put('bo@example.com')
    putToken(id, { createdAtMs: NOW_MS - 2000, expiresAtMs: NOW_MS, name: 'old' })
    putToken(id, { createdAtMs: NOW_MS - 1000, revokedAtMs: 1, abilities: [] })
    putToken(id, { name: 'bot', abilities: ['orders:read', 'orders:write'], lastUsedAtMs: NOW_MS })
    const { stdout } = await run(['token', 'list', 'ana@example.com'])
    const zero = '00000000-0000-4000-8000-00000000000'
    assert.equal(
      stdout,
      [
        'ID                                    NAME   STATE    CREATED               LAST USED             EXPIRES               ABILITIES',
        `${zero}5  bot    active   2025-01-02T03:04:05Z  2025-01-02T03:04:05Z  never                 orders:read orders:write`,
        `${zero}4  login  revoked  2025-01-02T03:04:04Z  never                 never                 -`,
        `${zero}3  old    expired  2025-01-02T03:04:03Z  never                 2025-01-02T03:04:05Z  *`,
        '',
      ].join('\n'),
    )
    const none = await run(['token', 'list', 'bo@example.com'])
    assert.deepEqual([none.code, none.stdout], [0, ''])
    assert.equal((await run(['token', 'list', 'nobody@example.com'])).code, 1)
  })

  test('prints all tokens with their owners, page by page, without control characters', async () => {
    const { run, put, putToken } = makeCommandLine()
    const [ana, zoe] = [await put('ana@example.com'), await put('zoe@example.com')]
    for (let count = 0; count < 600; count++) putToken(zoe)
    putToken(ana, { name: 'a\u001b[2J\nb', abilities: ['\u202e'] })
    const { stdout } = await run(['token', 'list'])
    const lines = stdout.trimEnd().split('\n')
    assert.equal(lines.length, 602)
    assert.match(lines[0] ?? '', /^ID +EMAIL +NAME +STATE +CREATED +LAST USED +EXPIRES +ABILITIES$/)
    assert.match(lines[1] ?? '', / ana@example\.com +a\ufffd\[2J\ufffdb /)
    assert.ok(lines.slice(2).every((line) => line.includes(' zoe@example.com ')))
    assert.doesNotMatch(stdout, /digest|[\u0000-\u0009\u000b-\u001f\u202e]/)
    assert.equal((await makeCommandLine().run(['token', 'list'])).stderr, 'There are no tokens yet.\n')
  })
})

describe('token revoke', () => {
  test('revokes the tokens of a name, or all of a customer', async () => {
    const { run, put, putToken, store } = makeCommandLine()
    const id = await put('ana@example.com')
    for (const name of ['bot', 'bot', 'login', 'importer']) putToken(id, { name })
    putToken(await put('bo@example.com'), { name: 'bot' })
    const named = await run(['token', 'revoke', 'ana@example.com', '--name', 'bot'])
    assert.deepEqual(named, {
      code: 0,
      stdout: 'Revoked 2 tokens of ana@example.com, on every instance.\n',
      stderr: '',
    })
    const again = await run(['token', 'revoke', 'ana@example.com', '--name', 'bot'])
    assert.deepEqual(again, {
      code: 1,
      stdout: '',
      stderr: 'latchkey: ana@example.com has no active token bot.\n',
    })
    const all = await run(['token', 'revoke', 'ana@example.com'])
    assert.equal(all.stdout, 'Revoked 2 tokens of ana@example.com, on every instance.\n')
    assert.equal((await run(['token', 'revoke', 'ana@example.com'])).code, 0)
    assert.equal((await run(['token', 'revoke', 'nobody@example.com'])).code, 1)
    const left = [...store.tokens.values()].filter(({ revokedAtMs }) => revokedAtMs === null)
    assert.equal(left.length, 1)
  })

  test('revokes all tokens that were issued before a time or a duration ago', async () => {
    for (const before of ['1h', '2025-01-02T02:04:05.678Z']) {
      const { run, put, putToken, store } = makeCommandLine()
      for (const email of ['ana@example.com', 'bo@example.com']) {
        const id = await put(email)
        putToken(id, { createdAtMs: NOW_MS - 3_600_001 })
        putToken(id, { createdAtMs: NOW_MS - 3_600_000, name: 'new' })
      }
      const { code, stdout } = await run(['token', 'revoke', '--issued-before', before])
      assert.deepEqual([code, stdout], [0, 'Revoked 2 tokens of all customers, on every instance.\n'])
      for (const { name, revokedAtMs } of store.tokens.values())
        assert.equal(revokedAtMs === null, name === 'new')
    }
  })

  test('refuses future or unreadable times, and more or less than one selection', async () => {
    const { run, put, putToken, store } = makeCommandLine()
    putToken(await put('ana@example.com'), { createdAtMs: 0 })
    for (const [args, code] of [
      [['--issued-before', '2030-01-01'], 1],
      [['--issued-before', '2024-02-30'], 1],
      [['--issued-before', 'yesterday'], 1],
      [[], 2],
      [['--name', 'login'], 2],
      [['ana@example.com', '--issued-before', '1h'], 2],
      [['--issued-before', '1h', '--name', 'login'], 2],
    ] as const) {
      const outcome = await run(['token', 'revoke', ...args])
      assert.deepEqual([outcome.code, outcome.stdout], [code, ''], args.join(' '))
      assert.match(outcome.stderr, /^latchkey: [^\n]+\n$/)
    }
    assert.ok([...store.tokens.values()].every(({ revokedAtMs }) => revokedAtMs === null))
  })
})

describe('token prune', () => {
  test('removes the tokens that ended longer ago than the option or the setting says', async () => {
    const { run, put, putToken, store } = makeCommandLine()
    const id = await put('ana@example.com')
    for (const days of [1, 29, 31, 100]) putToken(id, { expiresAtMs: NOW_MS - days * DAY_MS })
    putToken(id)
    const prune = async (...args: string[]) => (await run(['token', 'prune', ...args])).stdout
    assert.equal(await prune(), 'Removed 2 tokens that had ended.\n')
    assert.equal(await prune('--older-than', '2d'), 'Removed 1 token that had ended.\n')
    assert.equal(await prune('--older-than', '0d'), 'Removed 1 token that had ended.\n')
    assert.equal(store.tokens.size, 1)
    for (const wrong of ['2030-01-01', 'old', '', '-1d', '9999d']) {
      const { code, stderr } = await run(['token', 'prune', `--older-than=${wrong}`])
      assert.equal(code, 1)
      assert.match(stderr, /^latchkey: --older-than must be [^\n]*\n$/)
    }
  })
})
