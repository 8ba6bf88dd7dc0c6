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
  const timer = setTimeout(() => {
    if (!exchange.isWhole) onLate(exchange)
  }, timeoutMs)
  const stop = () => clearTimeout(timer)
  request.once('end', stop).once('close', stop)
}
