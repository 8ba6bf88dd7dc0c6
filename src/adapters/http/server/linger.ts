import type { Exchange } from './exchange.ts'

const LINGER_QUIET_MS = 500
const LINGER_MS = 5000
const LINGER_BYTES = 32 * 1024 * 1024

/** Sends the response and ends it when the client has finished sending, or after a time or a number of bytes. */
export function linger(exchange: Exchange, text: string | Uint8Array | null): void {
  const { request, response } = exchange
  let dropped = 0
  const quiet = setTimeout(end, LINGER_QUIET_MS)
  const whole = setTimeout(end, LINGER_MS)
  if (text === null) response.flushHeaders()
  else response.write(text)
  exchange.rejectBody = end
  request.on('data', count).once('end', end).once('close', end)
  request.resume()

  function count(chunk: Buffer): void {
    quiet.refresh()
    dropped += chunk.length
    if (dropped > LINGER_BYTES) end()
  }
  function end(): void {
    clearTimeout(quiet)
    clearTimeout(whole)
    request.off('data', count).off('end', end).off('close', end)
    response.end()
  }
}
