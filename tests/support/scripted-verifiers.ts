import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const LIMIT_MS = 20_000

/** A server that plays an instance of Latchkey by a script: a test sends lines, and reads those of the verifier. */
export interface ScriptedInstance {
  readonly url: string
  /** The requests of the upgrade, and the tokens that were introspected. */
  readonly upgrades: IncomingMessage[]
  readonly introspected: string[]
  /** What `/introspect` returns. */
  introspection: object
  /** Whether it accepts connections of verifiers. */
  accepts: boolean
  /** Whether each heartbeat gets a lease of this number of milliseconds at once; null for none. */
  leaseMs: number | null
  /** Waits for the next connection. */
  connected(): Promise<void>
  send(line: string): void
  /** Waits for the next line of the verifier that is no heartbeat and no report, and returns it. */
  next(): Promise<string>
  /** Returns the lines that were not read, after a moment. */
  rest(): Promise<readonly string[]>
  /** Waits for the next heartbeat, and returns its number. */
  beat(): Promise<number>
  hangUp(): void
  /** Ends the connection after a part of a line. */
  endWithin(part: string): void
  /** Resets the connection. */
  reset(): void
  close(): Promise<void>
}

/** Starts it on a free port. */
export async function scriptedInstance(): Promise<ScriptedInstance> {
  let socket: Socket | null = null
  let connections = 0
  let seenConnections = 0
  let lines: string[] = []
  let lastBeat = 0
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      instance.introspected.push(new URLSearchParams(body).get('token') ?? '')
      response.setHeader('Content-Type', 'application/json')
      response.end(JSON.stringify(instance.introspection))
    })
  })
  server.on('upgrade', (request, upgraded: Socket) => {
    if (!instance.accepts) {
      upgraded.destroy()
      return
    }
    instance.upgrades.push(request)
    socket = upgraded
    lines = []
    connections += 1
    upgraded.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: latchkey-verifier/1\r\n\r\n',
    )
    let rest = ''
    upgraded.on('error', () => {})
    upgraded.on('data', (chunk: Buffer) => {
      const parts = (rest + chunk.toString('latin1')).split('\n')
      rest = parts.pop() ?? ''
      for (const line of parts) take(line)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const instance: ScriptedInstance = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    upgrades: [],
    introspected: [],
    introspection: { active: false },
    accepts: true,
    // So long that no pause of a busy machine ends it.
    leaseMs: 600_000,
    async connected() {
      await until(() => connections > seenConnections)
      seenConnections = connections
    },
    send: (line) => socket?.write(`${line}\n`),
    async next() {
      await until(() => lines.length > 0)
      return lines.shift() as string
    },
    async rest() {
      await sleep(150)
      return lines.splice(0)
    },
    async beat() {
      const before = lastBeat
      await until(() => lastBeat > before)
      return lastBeat
    },
    hangUp: () => socket?.destroy(),
    endWithin: (part) => socket?.end(part),
    reset: () => socket?.resetAndDestroy(),
    async close() {
      socket?.destroy()
      server.closeAllConnections()
      server.close()
    },
  }
  return instance

  function take(line: string): void {
    const [kind, n = ''] = line.split(' ')
    if (kind === 'beat') {
      lastBeat = Number(n)
      if (instance.leaseMs !== null) instance.send(`lease ${n} ${instance.leaseMs}`)
    } else if (kind !== 'used') lines.push(line)
  }
}

async function until(holds: () => boolean): Promise<void> {
  for (const endMs = performance.now() + LIMIT_MS; !holds(); await sleep(2))
    if (performance.now() > endMs) throw new Error('It did not happen in time.')
}
