import { Unavailable } from '../domain/errors.ts'
import type { Clock } from '../lib/clock.ts'
import { isPromise } from '../lib/maybe-promise.ts'
import { methods } from '../lib/methods.ts'

/** The adapter's own error at its timeout comes first: it says more. */
const GRACE_MS = 100

/**
 * The same store, whose calls reject with `Unavailable` soon after their timeout even when the adapter ignores it. The timeout
 * is the last argument. A call that proceeds in steps, such as `revokeIssuedBefore`, has one for each step, which only its
 * adapter can apply.
 */
export function boundCalls<Store extends object>(store: Store, clock: Pick<Clock, 'after'>): Store {
  const calls = Object.entries(methods(store) as Readonly<Record<string, Call>>)
  return Object.fromEntries(calls.map(([name, call]) => [name, bound(call)])) as Store

  function bound(call: Call): Call {
    return (...args) => {
      const result = call(...args)
      const timeoutMs = args.at(-1)
      if (typeof timeoutMs !== 'number' || !isPromise(result)) return result
      return settleWithin(result, timeoutMs, clock)
    }
  }
}

type Call = (...args: readonly unknown[]) => unknown

/** Settles like the call, or rejects with `Unavailable` 100 ms after its timeout of `timeoutMs` milliseconds. */
export function settleWithin<T>(
  call: PromiseLike<T>,
  timeoutMs: number,
  clock: Pick<Clock, 'after'>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(timeoutMs + GRACE_MS, () =>
      reject(new Unavailable({ cause: new Error(`The store ignored its timeout of ${timeoutMs} ms.`) })),
    )
    const end = <V>(settle: (value: V) => void) => {
      return (value: V) => {
        cancel()
        settle(value)
      }
    }
    call.then(end(resolve), end(reject))
  })
}
