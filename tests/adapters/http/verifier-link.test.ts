import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { VerifierLink } from '../../../src/adapters/http/verifiers/verifier-link.ts'
import { VerifierLookups } from '../../../src/adapters/http/verifiers/verifier-lookups.ts'
import { InvalidToken } from '../../../src/domain/errors.ts'
import { until } from '../../support/until.ts'

/** A link over a real connection, to a service whose lookups a test ends. */
async function openLink(t: TestContext) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const verifier = connect((server.address() as AddressInfo).port, '127.0.0.1')
  verifier.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  t.after(() => {
    verifier.destroy()
    socket.destroy()
    server.close()
  })
  const lookups: (() => void)[] = []
  const events: string[] = []
  const services = {
    useCases: {
      authenticateDigest: () =>
        new Promise<never>((_, reject) => lookups.push(() => reject(new InvalidToken()))),
      deadline: () => ({}) as never,
      used: (id: string) => events.push(`used ${id}`),
    },
    cacheTtlMs: 1000,
    clock: { nowMs: () => 0, monotonicMs: () => 0 },
  }
  const requester = { requestId: 'r', address: '127.0.0.1', signal: new AbortController().signal }
  const link = new VerifierLink(socket, new VerifierLookups(services, 'billing', requester), {
    name: 'v',
    service: 'billing',
    requester,
    isAllowed: () => true,
  })
  link.start({
    beat: (k) => events.push(`beat ${k}`),
    seen: (n) => events.push(`seen ${n}`),
    bye: () => events.push('bye'),
    lost: () => events.push('lost'),
    disconnect(reason) {
      events.push(reason)
      link.close()
    },
  })
  return { verifier, link, lookups, events }
}

test('A verifier has at most 256 lookups in progress; its further lines wait for them', async (t) => {
  const { verifier, lookups, events } = await openLink(t)
  const finds = Array.from({ length: 300 }, (_, i) => `find ${i + 1} ${'a'.repeat(64)}\n`)
  verifier.write(`${finds.join('')}beat 1\n`)
  let received = ''
  verifier.on('data', (chunk) => {
    received += chunk
  })
  await until(() => lookups.length >= 256)
  verifier.write('beat 2\n')
  for (let ended = 0; ended < 300; ended++) {
    assert.ok(lookups.length <= ended + 256, `${lookups.length - ended} in progress`)
    assert.equal(events.includes('beat 1'), lookups.length === 300 && ended > 44)
    await until(() => lookups.length > ended)
    lookups[ended]?.()
    await until(() => received.split('\n').length > ended + 1)
  }
  await until(() => events.length === 2)
  assert.deepEqual(events, ['beat 1', 'beat 2'])
  assert.equal(received, finds.map((_, i) => `none ${i + 1}\n`).join(''))
})

test('A verifier that does not read is disconnected when a mebibyte waits for it', async (t) => {
  const { verifier, link, events } = await openLink(t)
  verifier.pause()
  let lines = 0
  for (; events.length === 0 && lines < 10_000; lines++) link.send('x'.repeat(16_384))
  assert.deepEqual(events, ['slow_reader'])
  assert.ok(lines >= 64)
  // A closed connection takes no line, and throws nothing.
  link.send('forget')
})

test('A line is handled once it is complete, however it is cut', async (t) => {
  const { verifier, events } = await openLink(t)
  const [id, notId] = [crypto.randomUUID(), '0'.repeat(36)]
  for (const part of ['be', 'at 7\nse', `en 8\nused ${id} ${notId} ${id}\nby`, 'e\n']) {
    verifier.write(part)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await until(() => events.includes('lost'))
  assert.deepEqual(events, ['beat 7', 'seen 8', `used ${id}`, `used ${id}`, 'bye', 'lost'])
})
