import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { runCli } from '../../../src/adapters/cli/run-cli.ts'
import { fakeHash, makeCommandLine, NOW_MS, type Outcome, toJsonText } from './command-line.ts'

const PASSWORD = 'correct horse'
const CTRL_C = '\u0003'
const CTRL_D = '\u0004'

/** A terminal at which each text is typed as soon as a prompt appears. */
async function typing(
  command: ReturnType<typeof makeCommandLine>,
  argv: readonly string[],
  ...texts: readonly (string | null)[]
): Promise<Outcome & { readonly raw: boolean }> {
  const modes: boolean[] = []
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (raw: boolean) => void modes.push(raw),
  })
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const outcome = runCli(argv, command.operations, { stdin, stdout, stderr })
  for (const [asked, text] of texts.entries()) {
    while (modes.filter(Boolean).length <= asked) await nextTurn()
    await nextTurn()
    if (text === null) stdin.end()
    else stdin.write(text)
  }
  return {
    code: await outcome,
    stdout: toJsonText(stdout),
    stderr: toJsonText(stderr),
    raw: modes.at(-1) ?? false,
  }
}

describe('The password prompt', () => {
  const add = ['customer', 'add', 'ana@example.com']

  test('asks twice, shows no character and restores the terminal', async () => {
    const command = makeCommandLine()
    const { code, stdout, stderr, raw } = await typing(command, add, `${PASSWORD}\r`, `${PASSWORD}\r`)
    assert.deepEqual([code, stdout, raw], [0, 'Added ana@example.com.\n', false])
    assert.equal(await command.hashOf('ana@example.com'), fakeHash(PASSWORD))
    assert.match(stderr, /New password/)
    assert.doesNotMatch(stderr, /correct|horse/)
  })

  test('changes nothing when the two passwords differ', async () => {
    const command = makeCommandLine()
    const { code, stderr } = await typing(command, add, `${PASSWORD}\r`, 'another one\r')
    assert.equal(code, 1)
    assert.match(stderr, /latchkey: The two passwords differ; nothing was changed\.\n$/)
    assert.equal(command.store.customers.size, 0)
  })

  for (const [title, typed] of [
    ['Ctrl-C', CTRL_C],
    ['Ctrl-D', CTRL_D],
    ['the end of the terminal', null],
  ] as const)
    test(`ends without a message and with exit code 1 on ${title}`, async () => {
      for (const texts of [[typed], [`${PASSWORD}\r`, typed]]) {
        const command = makeCommandLine()
        const { code, stdout, stderr, raw } = await typing(command, add, ...texts)
        assert.deepEqual([code, stdout, raw, command.store.customers.size], [1, '', false, 0])
        assert.doesNotMatch(stderr, /latchkey:/)
      }
    })

  test('appears after the check of the e-mail', async () => {
    const { code, stderr } = await typing(makeCommandLine(), ['customer', 'add', ' '])
    assert.deepEqual([code, stderr], [1, 'latchkey: email: Must have 1 to 254 characters.\n'])
  })

  test('asks for a new password too', async () => {
    const command = makeCommandLine()
    await command.put('ana@example.com')
    const argv = ['customer', 'password', 'ana@example.com']
    assert.equal((await typing(command, argv, `${PASSWORD}\r`, `${PASSWORD}\r`)).code, 0)
    assert.equal(await command.hashOf('ana@example.com'), fakeHash(PASSWORD))
  })
})

describe('A destructive command', () => {
  const commands: readonly (readonly string[])[] = [
    ['customer', 'delete', 'ana@example.com'],
    ['token', 'revoke', 'ana@example.com'],
    ['token', 'revoke', '--issued-before', '1h'],
  ]
  async function prepared() {
    const command = makeCommandLine()
    const id = await command.put('ana@example.com')
    for (let count = 0; count < 2; count++) command.putToken(id, { createdAtMs: NOW_MS - 7_200_000 })
    const active = () =>
      [...command.store.tokens.values()].filter((token) => token.revokedAtMs === null).length
    return { command, active }
  }

  for (const argv of commands) {
    const name = argv.join(' ')
    test(`asks on a terminal: ${name}`, async () => {
      for (const [typed, left] of [
        ['y', 0],
        ['n', 2],
        [CTRL_C, 2],
        [null, 2],
      ] as const) {
        const { command, active } = await prepared()
        const { code, raw } = await typing(command, argv, typed)
        assert.deepEqual([code, active(), raw], [left === 0 ? 0 : 1, left, false], String(typed))
      }
    })

    test(`does not ask with --yes, or without a terminal: ${name}`, async () => {
      const first = await prepared()
      assert.equal((await typing(first.command, [...argv, '--yes'])).code, 0)
      const second = await prepared()
      assert.equal((await second.command.run(argv)).code, 0)
      assert.deepEqual([first.active(), second.active()], [0, 0])
    })
  }

  test('does not ask before it revokes a single token', async () => {
    const command = makeCommandLine()
    command.putToken(await command.put('ana@example.com'))
    assert.equal((await typing(command, ['token', 'revoke', 'ana@example.com'])).code, 0)
  })
})
