import { once } from 'node:events'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import type { Exchange } from '../server/exchange.ts'

/** The age of an authentication after which the next bytes need another. */
const MAX_AUTHENTICATION_AGE_MS = 100

/** A body that is produced while it is sent. */
export interface StreamedBody {
  /** Produces the first part, before the head is sent. */
  begin(): Promise<void>
  writeHead(): void
  /** Writes the parts. Not called for HEAD. */
  produce(write: (part: string | Uint8Array) => Promise<void>): Promise<void>
  /** Releases the source. Always called. */
  close(): MaybePromise<unknown>
}

/**
 * Sends a body at the speed of the client. While it is sent, the client is authenticated again: a revoked token gets no
 * more bytes. A failure before the head gets a response like any other failure; after it, the connection is reset.
 */
export async function sendStream(
  exchange: Exchange,
  body: StreamedBody,
  authenticate: () => MaybePromise<unknown>,
): Promise<void> {
  const { signal, request, response } = exchange
  let authenticatedMs = exchange.beganMs
  try {
    await body.begin()
    await reauthenticate()
    if (exchange.responded) return
    body.writeHead()
    if (!exchange.isWhole) request.resume()
    if (request.method === 'HEAD') return void response.end()
    exchange.streams = true
    await body.produce(write)
    exchange.streams = false
    response.end()
    if (!exchange.isWhole) request.resume()
  } catch (error) {
    // An incomplete body must not look complete.
    if (exchange.responded) exchange.breakOff()
    throw signal.aborted ? signal.reason : error
  } finally {
    await body.close()
  }

  async function write(part: string | Uint8Array): Promise<void> {
    signal.throwIfAborted()
    await reauthenticate()
    if (!response.write(part)) await once(response, 'drain', { signal })
  }

  async function reauthenticate(): Promise<void> {
    const nowMs = performance.now()
    if (nowMs - authenticatedMs < MAX_AUTHENTICATION_AGE_MS) return
    await authenticate()
    authenticatedMs = nowMs
  }
}
