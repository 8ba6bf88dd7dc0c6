import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Client } from 'pg'

/** A TCP proxy in front of a PostgreSQL server. Tests use it to inject network faults. */
export interface TcpProxy {
  /** The server's URL with the proxy's address. */
  readonly url: string
  /** The number of open client connections. */
  connections(): number
  /** Stops forwarding, connection ends included. New connections are accepted and stay silent. */
  freeze(): void
  thaw(): void
  isFrozen(): boolean
  /** Behaves like a closed port: ends open connections, and each new one at once. */
  refuse(): void
  /** Accepts new connections again. */
  admit(): void
  /** Whether a client has sent this text since the freeze. */
  holdsBack(text: string): boolean
  /** Makes open connections silent for good, their end included. New connections work. */
  strand(): void
  /** Directs new connections to the server of this URL, which has the same users and databases. */
  leadTo(serverUrl: string): void
  /** Ends the connection without a reply once this text has been sent to the server. */
  cutAfterSending(text: string): void
  /** Delays the replies on a connection once this text has been sent to the server on it. */
  holdRepliesTo(text: string, forMs: number): void
  close(): Promise<void>
}

/** Opens a proxy in front of the server of a URL. */
export async function openTcpProxy(serverUrl: string): Promise<TcpProxy> {
  const clients = new Set<Socket>()
  const sockets = new Set<Socket>()
  const pairs = new Set<{ isStranded: boolean }>()
  const held: (() => void)[] = []
  const unsent: Buffer[] = []
  let isFrozen = false
  let isRefusing = false
  let lastWords: string | null = null
  let slow: { readonly text: string; readonly forMs: number } | null = null
  let target = serverUrl

  const listener = createServer({ allowHalfOpen: true }, (client) => {
    if (isRefusing) return void client.destroy()
    const server = connectTo(target)
    clients.add(client)
    client.on('data', (bytes) => {
      if (isFrozen) unsent.push(bytes)
    })
    client.on('end', () => clients.delete(client)).on('close', () => clients.delete(client))
    const pair = { isStranded: false }
    pairs.add(pair)
    client.on('close', () => {
      pairs.delete(pair)
      if (pair.isStranded) server.destroy()
    })
    let isCut = false
    let holdMs = 0
    relay(client, server, pair, (bytes) => {
      if (slow !== null) holdMs = bytes.includes(slow.text) ? slow.forMs : 0
      server.write(bytes)
      if (lastWords === null || !bytes.includes(lastWords)) return
      isCut = true
      // Gives the server time to process it.
      setTimeout(() => client.destroy(), 50)
    })
    relay(server, client, pair, (bytes) => {
      if (isCut) return
      if (holdMs === 0) client.write(bytes)
      else setTimeout(() => client.write(bytes), holdMs)
    })
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')

  return {
    url: atPort(serverUrl, (listener.address() as AddressInfo).port),
    connections: () => clients.size,
    freeze() {
      isFrozen = true
    },
    thaw() {
      isFrozen = false
      unsent.length = 0
      for (const pass of held.splice(0)) pass()
    },
    isFrozen: () => isFrozen,
    refuse() {
      isRefusing = true
      endAll()
    },
    admit() {
      isRefusing = false
    },
    holdsBack: (text) => unsent.some((bytes) => bytes.includes(text)),
    strand() {
      for (const pair of pairs) pair.isStranded = true
    },
    leadTo(url) {
      target = url
    },
    cutAfterSending(text) {
      lastWords = text
    },
    holdRepliesTo(text, forMs) {
      slow = { text, forMs }
    },
    async close() {
      endAll()
      listener.close()
      await once(listener, 'close')
    },
  }

  function endAll(): void {
    for (const socket of sockets) socket.destroy()
  }

  function relay(
    from: Socket,
    to: Socket,
    pair: { readonly isStranded: boolean },
    pass: (bytes: Buffer) => void,
  ): void {
    sockets.add(from)
    from.on('error', () => {})
    from.on('data', (bytes) => act(() => pass(bytes)))
    from.on('end', () => act(() => to.end()))
    from.on('close', () => {
      sockets.delete(from)
      act(() => to.destroySoon())
    })

    function act(now: () => void): void {
      if (isFrozen) held.push(() => act(now))
      else if (!pair.isStranded) now()
    }
  }
}

// Only the driver's URL parser knows whether the server listens on a port or on a socket in a folder.
function connectTo(serverUrl: string): Socket {
  const { host, port } = new Client({ connectionString: serverUrl })
  return host.startsWith('/')
    ? connect({ path: `${host}/.s.PGSQL.${port}`, allowHalfOpen: true })
    : connect({ host, port, allowHalfOpen: true })
}

function atPort(serverUrl: string, port: number): string {
  const { user, password, database } = new Client({ connectionString: serverUrl })
  const credentials = `${encodeURIComponent(user ?? '')}:${encodeURIComponent(password ?? '')}`
  return `postgres://${credentials}@127.0.0.1:${port}/${database}`
}
