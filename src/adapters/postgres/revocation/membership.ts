import type { Clock } from '../../../lib/clock.ts'
import { LEASE_MS } from './lease.ts'

/** The other instances that may hold a lease, by the heartbeats received from them. */
export interface Membership {
  /** A heartbeat of another instance was received. */
  receivedHeartbeat(instance: string): void
  /** The instance has stopped serving. */
  remove(instance: string): void
  clear(): void
  /** Returns the milliseconds that remain of each lease which may still be valid, by instance. */
  remainingMs(): ReadonlyMap<string, number>
}

/** Creates an empty list of instances. */
export function createMembership(clock: Clock): Membership {
  const lastBeatMs = new Map<string, number>()
  return {
    receivedHeartbeat(instance) {
      lastBeatMs.set(instance, clock.monotonicMs())
    },
    remove(instance) {
      lastBeatMs.delete(instance)
    },
    clear() {
      lastBeatMs.clear()
    },
    remainingMs() {
      const nowMs = clock.monotonicMs()
      const remaining = new Map<string, number>()
      for (const [instance, beatMs] of lastBeatMs) {
        const endsMs = beatMs + LEASE_MS
        if (nowMs >= endsMs) lastBeatMs.delete(instance)
        else remaining.set(instance, endsMs - nowMs)
      }
      return remaining
    },
  }
}
