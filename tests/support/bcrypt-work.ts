import { createHook } from 'node:async_hooks'

/** Counts what bcrypt does in this process. */
export interface BcryptWork {
  /** The number of passwords that were passed to a thread for hashing, decoys included. */
  count(): number
  stop(): void
}

/**
 * Counts bcrypt calls from now on. It hooks asynchronous resources: a native package's work is the one without a name.
 */
export function watchBcrypt(): BcryptWork {
  let count = 0
  const hook = createHook({
    init(_id, type) {
      if (type === 'undefined') count++
    },
  }).enable()
  return { count: () => count, stop: () => void hook.disable() }
}
