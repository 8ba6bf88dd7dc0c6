import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Returns the address that can be bound, such as `http://127.0.0.1:3000`. Rejects with node's error, so that startup can
 * fail before it has side effects.
 */
export async function checkAddress({ host, port }: { host: string; port: number }): Promise<string> {
  const probe = createServer()
  await listen(probe, { host, port })
  const url = listenerUrl(probe.address() as AddressInfo)
  await new Promise((resolve) => probe.close(resolve))
  return url
}

/** Binds the address. Rejects with node's error when it cannot be bound. */
export function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Returns the URL of a bound address. */
export function listenerUrl({ address, port }: AddressInfo): string {
  return httpUrl(address, port)
}

/** Returns the URL of a host name or an IP address, which IPv6 writes in brackets. */
export function httpUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
