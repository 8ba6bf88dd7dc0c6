import { PayloadTooLarge } from '../errors.ts'
import { ClientGone } from '../server/client-gone.ts'
import type { Exchange } from '../server/exchange.ts'

const EMPTY = Buffer.alloc(0)

/**
 * Reads the whole body, whose declared length is within the limit. Rejects with `PayloadTooLarge`, or when the client is
 * gone.
 */
export function readBody(exchange: Exchange): Promise<Buffer> {
  const { request, response, declaredBytes } = exchange
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false
    response.writeContinue()
  }
  if (declaredBytes === null) return readChunks(exchange)
  return new Promise((resolve) => {
    // Node reports a request before it has parsed the bytes that arrived with its head.
    setImmediate(() => {
      if (request.complete && !request.destroyed) {
        // One read costs less than the events of a stream. Without a size, Node 26 returns only the first chunk.
        resolve(request.read(declaredBytes) ?? EMPTY)
      } else {
        exchange.bodyWasLate = true
        resolve(readChunks(exchange))
      }
    })
  })
}

/** Reads a body as it arrives. */
function readChunks(exchange: Exchange): Promise<Buffer> {
  const { request, bodyLimitBytes, bodyFailure } = exchange
  if (bodyFailure !== null) return Promise.reject(bodyFailure)
  if (request.destroyed) return Promise.reject(new ClientGone())
  const late = setImmediate(() => {
    exchange.bodyWasLate = true
  })
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    exchange.rejectBody = fail
    request.on('data', onData).once('end', onEnd).once('error', onGone).once('close', onGone)

    function onData(chunk: Buffer): void {
      bytes += chunk.length
      if (bytes <= bodyLimitBytes) {
        chunks.push(chunk)
        return
      }
      // Set it now: a pipelined request behind this one must not begin before the rejection is handled.
      exchange.closes = true
      fail(new PayloadTooLarge())
    }
    function onEnd(): void {
      stop()
      resolve(Buffer.concat(chunks))
    }
    function onGone(): void {
      fail(new ClientGone())
    }
    function fail(error: Error): void {
      stop()
      reject(error)
    }
    function stop(): void {
      clearImmediate(late)
      exchange.rejectBody = null
      request.off('data', onData).off('end', onEnd).off('close', onGone)
    }
  })
}
