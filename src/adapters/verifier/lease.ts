import type { Clock } from '../../lib/clock.ts'

/** The lease of one connection. It ends a number of milliseconds after the sending of the heartbeat that it responds to. */
export type VerifierLease = ReturnType<typeof createVerifierLease>

export function createVerifierLease(clock: Clock) {
  /** The heartbeats without a response, each with the clocks before its sending. */
  const beats = new Map<number, readonly [monotonicMs: number, wallMs: number]>()
  let last = 0
  let [sentMs, sentWallMs, leaseMs] = [0, 0, 0]

  return {
    /** Notes the clocks, and returns the number of the heartbeat, which is sent afterwards. */
    beat(): number {
      last += 1
      beats.set(last, [clock.monotonicMs(), clock.nowMs()])
      return last
    },

    /** Heartbeat `k` has its response: a lease, or null for none, which leaves the lease before it. */
    respond(k: number, grantedMs: number | null): void {
      const sent = beats.get(k)
      beats.delete(k)
      if (sent !== undefined && grantedMs !== null) [sentMs, sentWallMs, leaseMs] = [...sent, grantedMs]
    },

    end(): void {
      leaseMs = 0
      beats.clear()
    },

    /** Whether the lease is valid at these times. Default: now. */
    holds(monotonicMs = clock.monotonicMs(), wallMs = clock.nowMs()): boolean {
      if (monotonicMs - sentMs >= leaseMs) return false
      // The monotonic clock stops while the machine sleeps. The wall clock does not, but it may be set.
      return wallMs >= sentWallMs && wallMs - sentWallMs < leaseMs
    },
  }
}
