import type { Cache } from '../../src/application/ports/cache.ts'
import type { HashingSlot, PasswordHasher } from '../../src/application/ports/password-hasher.ts'
import type { Clock } from '../../src/lib/clock.ts'

/** A fake hasher without the work. It records each verification and lets a test act during one. */
export interface FakePasswords extends PasswordHasher, HashingSlot {
  /** Hashes that count as outdated, so that a login renews them. */
  readonly dated: Set<string>
  readonly verified: (string | null)[]
  /** Called in each verification before it returns, with the number of verifications so far. */
  whileVerifying: (count: number) => unknown
}

export function fakePasswords(): FakePasswords {
  const fake: FakePasswords = {
    verified: [],
    whileVerifying: () => {},
    dated: new Set(),
    hash: async (password) => hashOf(password),
    rehash: (password) => fake.hash(password),
    isDated: (passwordHash) => fake.dated.has(passwordHash),
    queue: () => fake,
    hasRoom: () => true,
    leave() {},
    async verify(password, passwordHash) {
      fake.verified.push(passwordHash)
      await fake.whileVerifying(fake.verified.length)
      return passwordHash === hashOf(password)
    },
  }
  return fake
}

/** Returns the fake hash of a password. */
export function hashOf(password: string): string {
  return `hash of ${password}`
}

/** A cache on the manual clock. When full, it drops the oldest entry. */
export function mapCache<Value>(clock: Clock, maxEntries = 1000): Cache<Value> & { readonly size: number } {
  const entries = new Map<string, { readonly value: Value; readonly untilMs: number }>()
  let removed: (key: string, value: Value) => void = () => {}
  const drop = (key: string) => {
    const entry = entries.get(key)
    entries.delete(key)
    if (entry) removed(key, entry.value)
  }
  return {
    get size() {
      return entries.size
    },
    get(key) {
      const entry = entries.get(key)
      if (entry && clock.nowMs() >= entry.untilMs) drop(key)
      return entries.get(key)?.value
    },
    set(key, value, ttlMs) {
      drop(key)
      for (const oldest of entries.keys()) if (entries.size >= maxEntries) drop(oldest)
      if (ttlMs > 0) entries.set(key, { value, untilMs: clock.nowMs() + ttlMs })
    },
    delete: drop,
    clear: () => entries.clear(),
    onRemoved(listener) {
      removed = listener
    },
  }
}

/** A clock that counts its pending timers. */
export function countedTimers<C extends Pick<Clock, 'after'>>(
  clock: C,
): C & { readonly timers: () => number } {
  const owed = new Set<object>()
  return {
    ...clock,
    timers: () => owed.size,
    after(ms, call) {
      const timer = {}
      owed.add(timer)
      const callOff = clock.after(ms, () => {
        owed.delete(timer)
        call()
      })
      return () => {
        owed.delete(timer)
        callOff()
      }
    },
  }
}

/** A promise that a test settles. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(error: Error): void
}

export function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<T>((good, bad) => {
    resolve = good
    reject = bad
  })
  return { promise, resolve, reject }
}

/** Lets all queued tasks run: those that wait for nothing else. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
