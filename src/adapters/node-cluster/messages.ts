/** A command from the primary that every worker applies, with its sequence number. */
export interface Order {
  readonly order: object
  readonly n: number
}

export function isOrder(message: unknown): message is Order {
  return has(message, 'order')
}

/** A worker's acknowledgement of the order with that number. */
export function isApplied(message: unknown): message is { readonly applied: number } {
  return has(message, 'applied')
}

/** Asks a worker to drain and end, with the reason. */
export function isStop(message: unknown): message is { readonly stop: string } {
  return has(message, 'stop')
}

/** A worker's sign of life. */
export function isAlive(message: unknown): boolean {
  return has(message, 'alive')
}

function has(message: unknown, key: string): boolean {
  return typeof message === 'object' && message !== null && key in message
}
