/**
 * Measures the cache of `latchkey/verify` on one core: calls of `verify` that hit, beside `crypto.hash` and `Map.get`, which no
 * cache of digests can do without, in alternating rounds; and the heap per 100,000 tokens. `npm run bench:verifier`.
 */
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { tokenSecrets } from '../src/adapters/node-crypto/token-secrets.ts'
import { createVerifier } from '../src/package/verify.ts'

const TOKENS = 100_000
const ROUNDS = 15
/** Shorter than a lease, which only the event loop renews. */
const CALLS = 20_000
const MIB = 1024 * 1024

const server = createServer()
server.on('upgrade', (_request, socket: Socket) => {
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: latchkey-verifier/1\r\n\r\n',
  )
  let rest = ''
  socket
    .on('error', () => {})
    .on('data', (chunk) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      socket.write(lines.map(respond).join(''))
    })
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const secrets = tokenSecrets({ prefix: 'lk' })
const tokens = Array.from({ length: TOKENS }, () => secrets.issue().secret)
const verifier = createVerifier({ url, serviceToken: 'bench' })
while (!verifier.isCaching()) await sleep(5)
const emptyBytes = usedHeap()
for (let i = 0; i < TOKENS; i += 1000)
  await Promise.all(tokens.slice(i, i + 1000).map((token) => verifier.verify(token)))
const heapMib = (usedHeap() - emptyBytes) / MIB

const plain = new Map(tokens.map((token) => [hash('sha256', token, 'hex'), token]))
const ratios: number[] = []
let rate = 0
let slowestUs: number[] = []
for (let round = 0; round < ROUNDS; round++) {
  await sleep(20)
  const bare = time((token) => plain.get(hash('sha256', token, 'hex')))
  const own = await timeHits()
  ratios.push(bare / own)
  rate = Math.max(rate, (CALLS / own) * 1000)
  slowestUs = slowestUs.concat(sample())
}
ratios.sort((a, b) => a - b)
slowestUs.sort((a, b) => a - b)
const p99 = slowestUs[Math.floor(slowestUs.length * 0.99)] ?? 0
process.stdout.write(
  `verify() that hits: ${(ratios[Math.floor(ROUNDS / 2)] ?? 0).toFixed(2)} of crypto.hash + Map.get (median of ${ROUNDS} rounds, ${(ratios[0] ?? 0).toFixed(2)} to ${(ratios.at(-1) ?? 0).toFixed(2)}), ${Math.round(rate)} calls a second, p99 ${p99.toFixed(1)} µs; heap ${heapMib.toFixed(1)} MiB per ${TOKENS} tokens\n`,
)
await verifier.close()
server.closeAllConnections()
server.close()

/** Returns milliseconds. Repeats a round in which the lease ended, because another process had the core. */
async function timeHits(): Promise<number> {
  for (;;) {
    await sleep(300)
    let misses = 0
    const ms = time((token) => {
      if (verifier.verify(token) instanceof Promise) misses += 1
    })
    if (misses === 0) return ms
  }
}

function time(call: (token: string) => unknown): number {
  const beganMs = performance.now()
  for (let i = 0; i < CALLS; i++) call(tokens[i % TOKENS] as string)
  return performance.now() - beganMs
}

function sample(): number[] {
  return tokens.slice(0, 2000).map((token) => {
    const began = process.hrtime.bigint()
    verifier.verify(token)
    return Number(process.hrtime.bigint() - began) / 1000
  })
}

function usedHeap(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

function respond(line: string): string {
  const [kind, n = '', digest = ''] = line.split(' ')
  if (kind === 'beat') return `lease ${n} 800\n`
  if (kind !== 'find') return ''
  const id = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-4${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`
  const fields = {
    customer: id,
    email: `${digest.slice(32, 44)}@example.com`,
    token: id.toUpperCase(),
    name: 'login',
  }
  return `found ${n} ${JSON.stringify({ ...fields, abilities: ['*'], expires: 2_592_000_000, keep: 600_000 })}\n`
}
