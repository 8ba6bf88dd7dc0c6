import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newServiceSecret } from '../../src/adapters/node-crypto/service-secrets.ts'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { createVerifier } from '../../src/package/verify.ts'
import { type ScriptedInstance, scriptedInstance } from '../support/scripted-verifiers.ts'

/** A verifier as the test uses it. */
interface Subject {
  /** The id of the customer, null for a token that is not valid, or `unavailable`. */
  verify(token: string): Promise<string | null | 'unavailable'>
  close(): Promise<void>
}

const SECRET = newServiceSecret()
const PYTHON = join(import.meta.dirname, '../../examples/verifier-python')
const hasPython = spawnSync('python3', ['--version']).status === 0

const SUBJECTS: readonly {
  readonly name: string
  readonly skip: string | false
  start(url: string): Subject
}[] = [
  { name: 'latchkey/verify', skip: false, start: ownVerifier },
  {
    name: 'the verifier in Python',
    skip: hasPython ? false : 'python3 is not installed',
    start: pythonVerifier,
  },
]

const secrets = tokenSecrets({ prefix: 'lk' })
const issue = () => secrets.issue().secret
const digestOf = (token: string) => createHash('sha256').update(token).digest('hex')
const FOUND = {
  customer: 'c1',
  email: 'a@b',
  token: 't1',
  name: 'login',
  abilities: ['*'],
  expires: null,
  keep: 60_000,
}

for (const { name, skip, start } of SUBJECTS)
  describe(`The protocol of verifiers: ${name}`, { skip }, () => {
    let instance: ScriptedInstance
    let subject: Subject
    beforeEach(async () => {
      instance = await scriptedInstance()
      subject = start(instance.url)
      await instance.connected()
      await holdLease()
    })
    afterEach(async () => {
      await subject.close()
      await instance.close()
    })

    /** Waits until the verifier has received all that was sent to it: it receives lines in their order. */
    async function received(): Promise<void> {
      instance.send('ask 999')
      assert.equal(await instance.next(), 'seen 999')
    }
    async function holdLease(): Promise<void> {
      await instance.beat()
      await received()
    }
    /** Responds to the next lookup. */
    async function respond(token: string, fields: object | null = FOUND): Promise<string> {
      const [kind, n = '', digest] = (await instance.next()).split(' ')
      assert.deepEqual([kind, digest], ['find', digestOf(token)])
      instance.send(fields === null ? `none ${n}` : `found ${n} ${JSON.stringify(fields)}`)
      return n
    }
    /** Verifies a token by a lookup. */
    async function fill(token: string, fields: object = FOUND): Promise<void> {
      const verifying = subject.verify(token)
      await respond(token, fields)
      assert.equal(await verifying, 'c1')
    }
    /** Replaces the lease by a short one, and waits for its end. */
    const endLease = async () => {
      instance.leaseMs = 1
      await instance.beat()
      instance.leaseMs = null
      await received()
      await sleep(2)
    }
    const expectHit = async (token: string) => {
      assert.equal(await subject.verify(token), 'c1')
      assert.deepEqual(await instance.rest(), [])
    }
    const expectLookup = async (token: string) => {
      const verifying = subject.verify(token)
      await respond(token, null)
      assert.equal(await verifying, null)
    }

    test('opens the connection with the service token and a name of its own', () => {
      const [{ headers } = assert.fail()] = instance.upgrades
      assert.equal(headers.upgrade, 'latchkey-verifier/1')
      assert.equal(headers.authorization, `Bearer ${SECRET}`)
      assert.match(String(headers['latchkey-verifier']), /^[\w-]{8,64}$/)
    })

    test('uses what it looked up, while it holds a lease', async () => {
      const token = issue()
      await fill(token)
      await expectHit(token)
    })

    test('asks nothing about a malformed token', async () => {
      const token = issue()
      for (const wrong of ['', 'x', `${token.slice(0, -1)}_`, `x${token}`, `${token.slice(0, -7)}0000000`])
        assert.equal(await subject.verify(wrong), null)
      assert.deepEqual(await instance.rest(), [])
      assert.deepEqual(instance.introspected, [])
    })

    for (const [what, line] of [
      ['its digest', (token: string) => `digest ${digestOf(token)}`],
      ['its customer', () => 'customer c1'],
      ['everything', () => 'forget'],
    ] as const) {
      test(`forgets a token with ${what}, and then acknowledges`, async () => {
        const token = issue()
        await fill(token)
        instance.send(line(token))
        instance.send('ask 7')
        assert.equal(await instance.next(), 'seen 7')
        await expectLookup(token)
      })

      test(`does not store a lookup during which ${what} was invalidated`, async () => {
        const token = issue()
        const verifying = subject.verify(token)
        const [, n] = (await instance.next()).split(' ')
        instance.send(line(token))
        instance.send(`found ${n} ${JSON.stringify(FOUND)}`)
        assert.equal(await verifying, 'c1')
        await expectLookup(token)
      })
    }

    test('keeps other tokens', async () => {
      const [token, other] = [issue(), issue()]
      await fill(token)
      instance.send(`digest ${digestOf(other)}`)
      instance.send('customer c2')
      instance.send('ask 8')
      assert.equal(await instance.next(), 'seen 8')
      await expectHit(token)
    })

    test('forgets a token that is refused later', async () => {
      const token = issue()
      await fill(token, { ...FOUND, keep: 1 })
      await sleep(5)
      await expectLookup(token)
      await expectLookup(token)
    })

    test('counts lifetimes from the sending of the lookup', async () => {
      const token = issue()
      const verifying = subject.verify(token)
      const [, n] = (await instance.next()).split(' ')
      await sleep(120)
      instance.send(`found ${n} ${JSON.stringify({ ...FOUND, expires: 100 })}`)
      await verifying
      await expectLookup(token)
    })

    test('uses nothing after its lease, and joins no lookup', async () => {
      const token = issue()
      await fill(token)
      await endLease()
      const verifying = [subject.verify(token), subject.verify(token)]
      await respond(token)
      await respond(token)
      assert.deepEqual(await Promise.all(verifying), ['c1', 'c1'])
      await expectLookup(token)
    })

    test('counts the lease from the sending of its heartbeat', async () => {
      const token = issue()
      await fill(token)
      await endLease()
      const k = await instance.beat()
      await sleep(220)
      instance.send(`lease ${k} 200`)
      await sleep(10)
      await expectLookup(token)
    })

    test('joins a lookup while it holds a lease', async () => {
      const token = issue()
      const verifying = [subject.verify(token), subject.verify(token)]
      await respond(token)
      assert.deepEqual(await Promise.all(verifying), ['c1', 'c1'])
      assert.deepEqual(await instance.rest(), [])
    })

    test('introspects without a connection, stores nothing, and connects again with an empty cache', async () => {
      const [token, other] = [issue(), issue()]
      await fill(token)
      instance.introspection = { active: true, sub: 'c1', username: 'a@b', token_name: 'login' }
      instance.accepts = false
      instance.hangUp()
      // The first needs a lookup, so that the loss is known when the others begin.
      for (const each of [other, other, token]) assert.equal(await subject.verify(each), 'c1')
      assert.deepEqual(instance.introspected, [other, other, token])
      instance.accepts = true
      await instance.connected()
      await holdLease()
      await expectLookup(token)
    })

    test('replaces a connection with a line that is not understood, and then introspects', async () => {
      instance.introspection = { active: true, sub: 'c1', username: 'a@b', token_name: 'login' }
      for (const line of [(n = '') => `found ${n} {`, (n = '') => `found ${n} {}`, () => 'hello']) {
        const verifying = subject.verify(issue())
        const [, n] = (await instance.next()).split(' ')
        instance.send(line(n))
        assert.equal(await verifying, 'c1')
        await instance.connected()
        await holdLease()
      }
    })

    test('drops a line that the end of the connection has cut off', async () => {
      instance.introspection = { active: true, sub: 'c1', username: 'a@b', token_name: 'login' }
      for (const cut of [(n = '') => `none ${n}`, () => 'lease 12', () => 'digest']) {
        const verifying = subject.verify(issue())
        const [, n] = (await instance.next()).split(' ')
        instance.endWithin(cut(n))
        assert.equal(await verifying, 'c1')
        await instance.connected()
        await holdLease()
      }
    })

    test('survives a connection that is reset', async () => {
      for (let n = 0; n < 3; n++) {
        // Its acknowledgements meet a connection that is gone.
        for (let asked = 1; asked <= 50; asked++) instance.send(`ask ${asked}`)
        instance.reset()
        await instance.connected()
      }
      await holdLease()
      const token = issue()
      await fill(token)
      await expectHit(token)
    })

    test('says bye when the instance leaves, and connects again', async () => {
      instance.send('leave')
      assert.equal(await instance.next(), 'bye')
      instance.hangUp()
      await instance.connected()
    })

    test('fails on a lookup that fails', async () => {
      const token = issue()
      const verifying = subject.verify(token)
      const [, n] = (await instance.next()).split(' ')
      instance.send(`failed ${n}`)
      assert.equal(await verifying, 'unavailable')
    })
  })

function ownVerifier(url: string): Subject {
  const verifier = createVerifier({ url, serviceToken: SECRET })
  return {
    async verify(token) {
      try {
        return (await verifier.verify(token))?.customerId ?? null
      } catch {
        return 'unavailable'
      }
    },
    close: () => verifier.close(),
  }
}

function pythonVerifier(url: string): Subject {
  const child = spawn('python3', [join(PYTHON, 'serve_lines.py'), url], {
    env: { ...process.env, SERVICE_TOKEN: SECRET },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const waiting = new Map<number, (result: string) => void>()
  let last = 0
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [n = '', result = ''] = line.split(' ')
    waiting.get(Number(n))?.(result)
  })
  return {
    verify: (token) =>
      new Promise((resolve) => {
        last += 1
        waiting.set(last, (result) => resolve(result === 'none' ? null : result))
        child.stdin.write(`${last} ${token}\n`)
      }),
    async close() {
      const ended = new Promise((resolve) => child.once('close', resolve))
      child.stdin.end()
      await ended
    },
  }
}
