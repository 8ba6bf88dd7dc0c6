/**
 * Returns the methods of an adapter, bound to it, as a plain object that a decorator can spread. A spread of the adapter
 * would leave out the methods of a class.
 */
export function methods<T extends object>(adapter: T): T {
  const found: Record<string, unknown> = {}
  let level: object | null = adapter
  while (level !== null && level !== Object.prototype) {
    for (const name of Object.getOwnPropertyNames(level)) {
      const value = (adapter as Record<string, unknown>)[name]
      if (typeof value === 'function' && name !== 'constructor') found[name] ??= value.bind(adapter)
    }
    level = Object.getPrototypeOf(level)
  }
  return found as T
}
