import { createHook } from 'node:async_hooks'

/** Counts what bcrypt does in this process. */
export interface BcryptWork {
  /** How many passwords were given to a thread to be hashed, decoys included. */
  count(): number
  stop(): void
}

/** Counts from now on, below the product: work of a native package is known by having no name of its own. */
export function watchBcrypt(): BcryptWork {
  let count = 0
  const hook = createHook({
    init(_id, type) {
      if (type === 'undefined') count++
    },
  }).enable()
  return { count: () => count, stop: () => void hook.disable() }
}
