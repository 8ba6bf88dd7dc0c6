import { PayloadTooLarge } from '../errors.ts'
import { ClientGone } from '../server/client-gone.ts'
import type { Exchange } from '../server/exchange.ts'

/** Reads the body and calls `take` with each chunk. Rejects with `PayloadTooLarge`, or when the client is gone. */
export function readBody(exchange: Exchange, take: (chunk: Buffer) => void): Promise<void> {
  const { request, response } = exchange
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false
    response.writeContinue()
  }
  return new Promise((resolve, reject) => {
    // Node reports a request before it has parsed the bytes that arrived with its head.
    setImmediate(() => {
      // A body that is complete is taken in one read, which costs less than the events of a stream.
      if (exchange.bodyFailure === null && request.complete) {
        const body: Buffer | null = request.read()
        if (body === null) resolve()
        else if (body.length > exchange.bodyLimitBytes) reject(new PayloadTooLarge())
        else resolve(take(body))
      } else {
        exchange.bodyWasLate = true
        resolve(readChunks(exchange, take))
      }
    })
  })
}

/** Reads the rest of a body as it arrives. */
function readChunks(exchange: Exchange, take: (chunk: Buffer) => void): Promise<void> {
  const { request, bodyLimitBytes, bodyFailure } = exchange
  if (bodyFailure !== null) return Promise.reject(bodyFailure)
  if (request.destroyed) return Promise.reject(new ClientGone())
  return new Promise((resolve, reject) => {
    let bytes = 0
    exchange.rejectBody = fail
    request.on('data', onData).once('end', onEnd).once('error', onGone).once('close', onGone)

    function onData(chunk: Buffer): void {
      bytes += chunk.length
      if (bytes <= bodyLimitBytes) {
        take(chunk)
        return
      }
      // Set it now: a pipelined request behind this one must not begin before the rejection is handled.
      exchange.closes = true
      fail(new PayloadTooLarge())
    }
    function onEnd(): void {
      stop()
      resolve()
    }
    function onGone(): void {
      fail(new ClientGone())
    }
    function fail(error: Error): void {
      stop()
      reject(error)
    }
    function stop(): void {
      exchange.rejectBody = null
      request.off('data', onData).off('end', onEnd).off('close', onGone)
    }
  })
}
