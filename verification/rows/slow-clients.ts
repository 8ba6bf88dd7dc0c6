import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { withApp } from '../app.ts'
import type { Row } from '../row.ts'

const LIMIT_MS = 2000

export const clientRows: readonly Row[] = [
  {
    id: 'I2',
    promise:
      'slow heads, slow bodies and silence: each closed by its limit and a second more; others are served',
    sizes: { ci: 600, release: 4000 },
    mutants: [
      {
        name: 'slow clients are checked every minute',
        file: 'src/adapters/http/server/server.ts',
        find: 'connectionsCheckingInterval: SWEEP_MS',
        replace: 'connectionsCheckingInterval: 60_000',
      },
      {
        name: 'a whole request may take forever',
        file: 'src/adapters/http/server/server.ts',
        find: `requestTimeout: Math.max(
      settings.requestTimeoutMs,
      ...routes.map(({ requestTimeoutMs }) => requestTimeoutMs ?? 0),
    )`,
        replace: 'requestTimeout: 0',
      },
    ],
    async run(trial) {
      const env = {
        HEADERS_TIMEOUT: `${LIMIT_MS}ms`,
        REQUEST_TIMEOUT: `${LIMIT_MS}ms`,
        KEEP_ALIVE_TIMEOUT: `${LIMIT_MS}ms`,
      }
      await withApp(trial, { env }, async (app) => {
        const sockets: Socket[] = []
        const { email } = await app.addCustomer()
        const token = await app.login(email)
        const base = await callsFor(1000)
        const kinds = ['silent', 'slow head', 'slow body', 'idle'] as const
        const lives: number[] = []
        for (let i = 0; i < trial.size; i++) {
          sockets.push(await open(app.port, kinds[i % kinds.length] ?? 'silent', (ms) => lives.push(ms)))
        }
        const loaded = await callsFor(LIMIT_MS + 3000)
        for (const ms of lives) trial.expect(ms < LIMIT_MS + 3000, () => `closed after ${Math.round(ms)} ms`)
        trial.expect(
          lives.length === trial.size,
          () => `${trial.size - lives.length} of ${trial.size} are still open`,
        )
        trial.note(
          `closed after at most ${Math.round(Math.max(...lives))} ms at a limit of ${LIMIT_MS} ms and a sweep of 1000 ms`,
        )
        trial.note(`others' p99: ${base.toFixed(1)} ms before, ${loaded.toFixed(1)} ms meanwhile`)

        async function callsFor(ms: number): Promise<number> {
          const times: number[] = []
          for (const endMs = performance.now() + ms; performance.now() < endMs; await sleep(5)) {
            const beganMs = performance.now()
            const { status } = await app.call('/api/me', { token })
            times.push(performance.now() - beganMs)
            trial.expect(status === 200, () => `another client got ${status}`)
          }
          return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0
        }
        for (const socket of sockets) socket.destroy()
      })
    },
  },
]

function open(
  port: number,
  kind: 'silent' | 'slow head' | 'slow body' | 'idle',
  closed: (ms: number) => void,
): Promise<Socket> {
  return new Promise((resolve) => {
    const beganMs = performance.now()
    const socket = connect(port, '127.0.0.1')
    const head = 'POST /api/login HTTP/1.1\r\nHost: a\r\n'
    const body = 'Content-Type: application/json\r\nContent-Length: 90000\r\n\r\n'.replace('90000', '900')
    if (kind === 'slow head') socket.write(head)
    if (kind === 'slow body') socket.write(head + body)
    if (kind === 'idle') socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')
    const drip = setInterval(() => {
      if (kind === 'slow head') socket.write('X: a\r\n')
      if (kind === 'slow body') socket.write(' ')
    }, 500)
    socket.on('error', () => {})
    socket.on('close', () => {
      clearInterval(drip)
      closed(performance.now() - beganMs)
    })
    socket.resume()
    socket.once('connect', () => resolve(socket))
  })
}
