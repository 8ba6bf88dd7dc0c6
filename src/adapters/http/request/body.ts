import { PayloadTooLarge } from '../errors.ts'
import { ClientGone } from '../server/client-gone.ts'
import type { Exchange } from '../server/exchange.ts'

/** Reads the body and calls `take` with each chunk. Rejects with `PayloadTooLarge`, or when the client is gone. */
export function readBody(exchange: Exchange, take: (chunk: Buffer) => void): Promise<void> {
  const { request, response, bodyLimitBytes, bodyFailure } = exchange
  if (bodyFailure !== null) return Promise.reject(bodyFailure)
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false
    response.writeContinue()
  }
  // Only after this event loop turn: node reports a request before it has parsed the bytes that arrived with its head.
  const late = setImmediate(() => {
    exchange.bodyWasLate = true
  })
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
      clearImmediate(late)
      exchange.rejectBody = null
      request.off('data', onData).off('end', onEnd).off('close', onGone)
    }
  })
}
