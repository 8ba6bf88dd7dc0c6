import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fakeHash, makeCommandLine, NOW_MS } from './command-line.ts'

const HASH = `$2b$12$${'a'.repeat(53)}`
const PASSWORD = 'correct horse'

describe('customer add', () => {
  test('creates a customer with the password from standard input', async () => {
    const { run, hashOf, open } = makeCommandLine()
    const argv = ['customer', 'add', ' ana@example.com ', '--name', 'Ana', '--password-stdin']
    assert.deepEqual(await run(argv, PASSWORD), { code: 0, stdout: 'Added ana@example.com.\n', stderr: '' })
    assert.equal(await hashOf('ana@example.com'), fakeHash(PASSWORD))
    assert.equal(open.now, 0)
  })

  // Public case 028
  for (const [title, input, password] of [
    ['one line break', `${PASSWORD}\n`, PASSWORD],
    ['one line break of Windows', `${PASSWORD}\r\n`, PASSWORD],
    ['all line breaks at the end', `${PASSWORD}\n\r\n\n`, PASSWORD],
    ['no line break in the middle', `${PASSWORD}\n${PASSWORD}\n`, `${PASSWORD}\n${PASSWORD}`],
    ['no space', ` ${PASSWORD} `, ` ${PASSWORD} `],
    ['a lone carriage return at the end', `${PASSWORD}\r`, PASSWORD],
    ['a byte-order mark', `\ufeff${PASSWORD}`, PASSWORD],
    ['both', `\ufeff${PASSWORD}\r\n`, PASSWORD],
  ] as const)
    test(`removes ${title} from the password`, async () => {
      const { run, hashOf } = makeCommandLine()
      assert.equal((await run(['customer', 'add', 'a@b', '--password-stdin'], input)).code, 0)
      assert.equal(await hashOf('a@b'), fakeHash(password))
    })

  // Public case 062
  test('accepts a password of 1,024 bytes, but no longer one', async () => {
    const { run } = makeCommandLine()
    const add = (email: string, password: string) =>
      run(['customer', 'add', email, '--password-stdin'], password)
    assert.equal((await add('a@b', '€'.repeat(341))).code, 0)
    assert.equal((await add('b@c', 'p'.repeat(1024))).code, 0)
    for (const password of ['€'.repeat(342), 'p'.repeat(1025)]) {
      assert.deepEqual(await add('c@d', password), {
        code: 1,
        stdout: '',
        stderr: 'latchkey: password: Must have at most 1024 bytes.\n',
      })
    }
  })

  for (const [title, argv, input, line] of [
    ['a short password', ['a@b', '--password-stdin'], 'short', 'password: Must have at least 8 characters.'],
    ['no password', ['a@b', '--password-stdin'], '', 'password: Must have at least 8 characters.'],
    ['NUL', ['a@b', '--password-stdin'], `${PASSWORD}\0`, 'password: Must not contain NUL.'],
    ['an empty e-mail', [' ', '--hash-stdin'], HASH, 'email: Must have 1 to 254 characters.'],
    [
      'a control character',
      ['a\u001b[2Jb', '--hash-stdin'],
      HASH,
      'email: Must not contain control characters.',
    ],
    [
      'one in the name',
      ['a@b', '--name', 'A\tB', '--hash-stdin'],
      HASH,
      'name: Must not contain control characters.',
    ],
    [
      'text that is not UTF-8',
      ['a@b', '--password-stdin'],
      Buffer.from('passw\xf6rd', 'latin1'),
      'Standard input is not UTF-8 text.',
    ],
    [
      'an endless input',
      ['a@b', '--password-stdin'],
      'x'.repeat(70_000),
      'Standard input has more than 65536 bytes.',
    ],
    [
      'no terminal to ask at',
      ['a@b'],
      '',
      'There is no terminal to ask for the password; give it with --password-stdin.',
    ],
  ] as const)
    test(`refuses ${title} in one line`, async () => {
      const { run, store } = makeCommandLine()
      assert.deepEqual(await run(['customer', 'add', ...argv], input), {
        code: 1,
        stdout: '',
        stderr: `latchkey: ${line}\n`,
      })
      assert.equal(store.customers.size, 0)
    })

  // Public case 068
  test('refuses a hash as a password', async () => {
    const { run, store } = makeCommandLine()
    for (const hash of [HASH, HASH.replace('$2b$', '$2y$'), HASH.replace('$2b$12$', '$2a$04$')]) {
      assert.deepEqual(await run(['customer', 'add', 'a@b', '--password-stdin'], hash), {
        code: 1,
        stdout: '',
        stderr: 'latchkey: password: Must be a password, not the hash of one.\n',
      })
    }
    assert.equal(store.customers.size, 0)
  })

  // Public cases 058, 060, 061 and 068
  test('refuses an incomplete hash, and a plain text as a hash', async () => {
    const { run, store } = makeCommandLine()
    for (const hash of [
      HASH.slice(1),
      HASH.slice(0, 59),
      `${HASH}    `,
      ` ${HASH}`,
      `"${HASH}"`,
      `${HASH}\u0000junk`,
      HASH.replace('$2b$', '$2x$'),
      HASH.replace('$2b$', '$2$'),
      '$1$abcdefgh$Xk6GbLOSUhzAQ1ZkfVcP0.',
      '5f4dcc3b5aa765d61d8327deb882cf99',
      '$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b4dWRWJTmaaJObG',
      PASSWORD,
      '',
    ]) {
      assert.deepEqual(await run(['customer', 'add', 'a@b', '--hash-stdin'], hash), {
        code: 1,
        stdout: '',
        stderr: 'latchkey: password_hash: Must be a whole bcrypt hash.\n',
      })
    }
    assert.equal(store.customers.size, 0)
  })

  test('stores a complete hash as it is', async () => {
    const { run, hashOf } = makeCommandLine()
    assert.equal((await run(['customer', 'add', 'a@b', '--hash-stdin'], `${HASH}\n`)).code, 0)
    assert.equal(await hashOf('a@b'), HASH)
  })

  test('refuses an e-mail that exists, in any case', async () => {
    const { run, put } = makeCommandLine()
    await put('ana@example.com')
    assert.deepEqual(await run(['customer', 'add', 'ANA@example.com', '--password-stdin'], PASSWORD), {
      code: 1,
      stdout: '',
      stderr: 'latchkey: A customer ANA@example.com exists already.\n',
    })
  })
})

describe('customer password', () => {
  // Public case 084
  test('sets the password, revokes the tokens and prints their number', async () => {
    const { run, put, putToken, hashOf } = makeCommandLine()
    const id = await put('ana@example.com')
    putToken(id)
    putToken(id, { name: 'bot' })
    assert.deepEqual(await run(['customer', 'password', 'Ana@example.com', '--hash-stdin'], HASH), {
      code: 0,
      stdout: 'Set the password of ana@example.com; 2 tokens revoked, on every instance.\n',
      stderr: '',
    })
    assert.equal(await hashOf('ana@example.com'), HASH)
    assert.match((await run(['customer', 'show', 'ana@example.com'])).stdout, /tokens +0 active, 2 revoked/)
  })

  test('refuses an invalid password and changes nothing', async () => {
    const { run, put, hashOf } = makeCommandLine()
    await put('ana@example.com')
    assert.equal(
      (await run(['customer', 'password', 'ana@example.com', '--password-stdin'], 'short')).code,
      1,
    )
    assert.equal(await hashOf('ana@example.com'), null)
  })
})

describe('customer disable, enable and delete', () => {
  // Public case 080
  for (const [count, words] of [
    [0, '0 tokens'],
    [1, '1 token'],
    [1000, '1,000 tokens'],
  ] as const)
    test(`disable and delete revoke ${words} and say so`, async () => {
      const { run, put, putToken, store } = makeCommandLine()
      for (const verb of ['disable', 'delete']) {
        const email = `${verb}@example.com`
        const id = await put(email)
        for (let i = 0; i < count; i++) putToken(id)
        const { code, stdout } = await run(['customer', verb, email])
        assert.deepEqual(
          [code, stdout.slice(stdout.indexOf(';'))],
          [0, `; ${words} revoked, on every instance.\n`],
        )
      }
      assert.equal(store.customers.size, 1)
    })

  test('enable accepts logins again, also when repeated', async () => {
    const { run, put } = makeCommandLine()
    await put('ana@example.com', { disabledAtMs: NOW_MS })
    for (let i = 0; i < 2; i++)
      assert.deepEqual(await run(['customer', 'enable', 'ana@example.com']), {
        code: 0,
        stdout: 'Enabled ana@example.com.\n',
        stderr: '',
      })
    assert.match((await run(['customer', 'show', 'ana@example.com'])).stdout, /^state +active$/m)
  })

  // Public case 080
  test('delete is refused the second time', async () => {
    const { run, put } = makeCommandLine()
    await put('ana@example.com')
    assert.equal((await run(['customer', 'delete', 'ana@example.com'])).code, 0)
    assert.equal((await run(['customer', 'delete', 'ana@example.com'])).code, 1)
  })

  // Public case 080
  for (const verb of ['show', 'disable', 'enable', 'delete', 'password'])
    test(`${verb} reports an unknown customer in one line`, async () => {
      const { run, open } = makeCommandLine()
      const flags = verb === 'password' ? ['--password-stdin'] : []
      assert.deepEqual(await run(['customer', verb, 'nobody\u001b@example.com', ...flags], PASSWORD), {
        code: 1,
        stdout: '',
        stderr: 'latchkey: There is no customer nobody\ufffd@example.com.\n',
      })
      assert.equal(open.now, 0)
    })
})

describe('customer sessions', () => {
  test('lists the active login tokens with their devices, as a table and as JSON', async () => {
    const { run, put, putToken } = makeCommandLine()
    const id = await put('ana@example.com')
    putToken(id, { device: 'Ana’s phone', lastUsedAtMs: NOW_MS - 1000 })
    putToken(id, { revokedAtMs: NOW_MS })
    putToken(id, { expiresAtMs: NOW_MS })
    putToken(id, { name: 'bot' })
    const { code, stdout } = await run(['customer', 'sessions', 'ana@example.com', '--json'])
    assert.equal(code, 0)
    const { sessions } = JSON.parse(stdout)
    assert.deepEqual(
      sessions.map(({ id: _, ...fields }: { readonly id: string }) => fields),
      [
        {
          device: 'Ana’s phone',
          created_at: new Date(NOW_MS).toISOString(),
          last_used_at: new Date(NOW_MS - 1000).toISOString(),
          expires_at: null,
        },
      ],
    )
    const table = await run(['customer', 'sessions', 'ana@example.com'])
    assert.match(table.stdout, /^ID .*DEVICE\n.*Ana’s phone\n$/s)
    assert.equal((await run(['customer', 'sessions', 'bea@example.com'])).code, 1)
  })
})

describe('customer unlock', () => {
  test('forgets the failed logins, and revokes nothing while logins replace sessions', async () => {
    const { run, put, putToken } = makeCommandLine()
    putToken(await put('ana@example.com'))
    const stdout = 'Forgot the failed logins of ana@example.com.\n'
    assert.deepEqual(await run(['customer', 'unlock', 'ana@example.com']), { code: 0, stdout, stderr: '' })
  })

  test('frees the slots where a full number of sessions refuses logins', async () => {
    const { run, put, putToken, store } = makeCommandLine({}, { settings: { loginSessionsFull: 'refuse' } })
    const id = await put('ana@example.com')
    putToken(id)
    putToken(id, { name: 'bot' })
    const { code, stdout } = await run(['customer', 'unlock', 'ana@example.com', '--json'])
    assert.deepEqual([code, JSON.parse(stdout)], [0, { id, email: 'ana@example.com', revoked: 1 }])
    const live = [...store.tokens.values()].filter(({ revokedAtMs }) => revokedAtMs === null)
    assert.deepEqual(
      live.map(({ name }) => name),
      ['bot'],
    )
  })

  test('fails where each process counts failed logins in its own memory', async () => {
    const { run, put } = makeCommandLine({}, { sharesThrottle: false })
    await put('ana@example.com')
    const { code, stderr } = await run(['customer', 'unlock', 'ana@example.com'])
    assert.equal(code, 1)
    assert.match(stderr, /in its own memory/)
  })
})
