import type { Exchange } from './exchange.ts'

/**
 * Calls `onLate` when the request has not arrived completely `timeoutMs` after its head. Node has one limit for all
 * requests of a server, which is that of the slowest route.
 */
export function limitArrival(
  exchange: Exchange,
  timeoutMs: number,
  onLate: (exchange: Exchange) => void,
): void {
  const { request } = exchange
  const { socket } = request
  const timer = setTimeout(() => {
    if (!exchange.isWhole) onLate(exchange)
  }, timeoutMs)
  request.once('end', stop)
  // A request whose response is sent does not close with its connection.
  socket.once('close', stop)

  function stop(): void {
    clearTimeout(timer)
    socket.off('close', stop)
  }
}
