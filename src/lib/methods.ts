/**
 * Returns the methods of an adapter as a plain object, so that a decorator can spread them. A spread of an instance of a
 * class would leave them out.
 */
export function methods<T extends object>(adapter: T): T {
  if (Object.getPrototypeOf(adapter) === Object.prototype) return adapter
  const found: Record<string, unknown> = {}
  for (let level = adapter; level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const name of Object.getOwnPropertyNames(level)) {
      const value = (adapter as Record<string, unknown>)[name]
      if (typeof value === 'function' && name !== 'constructor') found[name] ??= value.bind(adapter)
    }
  }
  return found as T
}
