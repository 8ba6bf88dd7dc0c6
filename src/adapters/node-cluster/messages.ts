/** Something that every worker is to obey, with its number. */
export interface Order {
  readonly order: object
  readonly n: number
}

export function isOrder(message: unknown): message is Order {
  return has(message, 'order')
}

/** A worker's answer to the order of a number. */
export function isApplied(message: unknown): message is { readonly applied: number } {
  return has(message, 'applied')
}

/** What ends a worker, for the reason that it is given. */
export function isStop(message: unknown): message is { readonly stop: string } {
  return has(message, 'stop')
}

function has(message: unknown, key: string): boolean {
  return typeof message === 'object' && message !== null && key in message
}
