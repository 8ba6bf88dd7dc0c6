import { Agent, type IncomingMessage, request } from 'node:http'
import { fromAnotherAddress } from './many-addresses.ts'

/** A fast client. It reuses connections and reads only the status of a response. */
export interface QuickClient {
  /** Returns the status of `POST /api/me`, or null when none of our instances responded. */
  me(url: string, token: string): Promise<number | null>
  /** Returns the status of `GET /`, or null without a response. */
  get(url: string, token: string): Promise<number | null>
  close(): void
}

export function createQuickClient(): QuickClient {
  const agent = new Agent({ keepAlive: true })
  const ask = (method: string, url: string, token: string) =>
    new Promise<IncomingMessage | null>((resolve) => {
      const headers = { Authorization: `Bearer ${token}`, ...fromAnotherAddress() }
      request(url, { method, headers, agent })
        .on('response', (response) => {
          response
            .resume()
            .once('end', () => resolve(response))
            .once('error', () => resolve(null))
        })
        .on('error', () => resolve(null))
        .end()
    })
  return {
    async me(url, token) {
      const response = await ask('POST', `${url}/api/me`, token)
      // A balancer sends responses of its own.
      return response?.headers['x-request-id'] === undefined ? null : (response.statusCode ?? null)
    },
    async get(url, token) {
      const response = await ask('GET', `${url}/`, token)
      return response?.statusCode ?? null
    },
    close: () => agent.destroy(),
  }
}
