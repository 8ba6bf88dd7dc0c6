/** A value, or a promise of it. A cache hit returns the value, so that the caller does not wait for a microtask. */
export type MaybePromise<T> = T | Promise<T>

/**
 * Whether the value is a promise. Accepts every thenable: handlers and adapters may return one of a library, such as a
 * query builder that sends its query on the first `then`.
 */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return value instanceof Promise || typeof (value as PromiseLike<T> | undefined)?.then === 'function'
}

/** Calls `next` with the value: synchronously when it is available, otherwise when its promise resolves. */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}
