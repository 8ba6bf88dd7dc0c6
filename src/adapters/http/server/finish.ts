import type { Exchange } from './exchange.ts'

const LINGER_QUIET_MS = 500
const LINGER_MS = 5000
const LINGER_BYTES = 32 * 1024 * 1024

/**
 * Ends a response whose head is written. If the connection closes while the client is still sending, the end is delayed
 * until the client has finished, within limits: closing a socket with unread bytes resets it, and the client may lose the
 * response (lingering close, RFC 9112, section 9.6).
 */
export function finish(
  exchange: Exchange,
  text: string | Uint8Array | null,
  encoding: 'utf8' | 'latin1',
): void {
  const { request, response, closes, bodyFailure } = exchange
  if (!exchange.isWhole && closes && !request.destroyed && bodyFailure === null) {
    linger(exchange, text)
    return
  }
  if (text === null) response.end()
  else response.end(text, encoding)
  if (!exchange.isWhole) request.resume()
}

function linger(exchange: Exchange, text: string | Uint8Array | null): void {
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
