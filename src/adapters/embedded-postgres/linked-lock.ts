/** A lock that this process holds. It is free when the process ends, however it ends. */
export interface ProcessLock {
  release(): Promise<void>
}

/** `stale`: the process that published the name has ended. Its socket never listens again. */
export type NameState = 'held' | 'stale' | 'absent'

/** Names in a folder, each of which a process publishes while it listens on a socket. */
export interface LockNames {
  find(name: string): Promise<NameState>
  /** Publishes the name atomically. Returns null when it exists. Releasing removes the name, then stops listening. */
  publish(name: string): Promise<ProcessLock | null>
  remove(name: string): Promise<void>
}

/**
 * Acquires the lock `name`, or returns undefined when another process holds it or is removing it.
 *
 * Several processes may find the same stale name. Only the holder of a second lock, the guard, removes it, and checks again
 * first: without the guard, a slow process would remove the name that a faster one has published meanwhile. The guard of
 * a process that was killed is stale, too, and has a guard itself: one `+` more for each process killed while it removes a name.
 */
export async function acquire(names: LockNames, name: string): Promise<ProcessLock | undefined> {
  for (;;) {
    const state = await names.find(name)
    if (state === 'held') return undefined
    if (state === 'absent') {
      const lock = await names.publish(name)
      if (lock !== null) return lock
      continue
    }
    const guard = await acquire(names, `${name}+`)
    if (guard === undefined) return undefined
    try {
      if ((await names.find(name)) === 'stale') await names.remove(name)
    } finally {
      await guard.release()
    }
  }
}
