import type { Clock } from '../../../lib/clock.ts'
import { LEASE_MS } from './lease.ts'

/** An event of the invalidations, for the log. */
export interface InvalidationsEvent {
  readonly kind: 'suspended' | 'resumed' | 'not_understood'
  readonly detail: string
}

/** The time between two reports of notifications that cannot be decoded: anybody may send them. */
const NOT_DECODED_PAUSE_MS = 60_000

/** Reports when the cache is suspended for lack of a lease, and when it is used again. */
export interface Suspension {
  /** A notification could not be decoded. It is reported at most once a minute. */
  notDecoded(): void
  /** Whether a lease is held now. `problem` is the reason for which it is not, in sentences for the operator. */
  update(holdsLease: boolean, problem: string): void
}

/** Creates a report of suspensions. A gap shorter than a lease is not reported. */
export function createSuspension(clock: Clock, onEvent: (event: InvalidationsEvent) => void): Suspension {
  let heldMs = clock.monotonicMs()
  let isSuspended = false
  let notDecodedMs = -Infinity
  return {
    notDecoded() {
      const nowMs = clock.monotonicMs()
      if (nowMs - notDecodedMs < NOT_DECODED_PAUSE_MS) return
      notDecodedMs = nowMs
      onEvent({ kind: 'not_understood', detail: 'A notification of an unknown version was received.' })
    },
    update(holdsLease, problem) {
      const nowMs = clock.monotonicMs()
      if (holdsLease) {
        heldMs = nowMs
        if (isSuspended) onEvent({ kind: 'resumed', detail: 'Validations are cached again.' })
        isSuspended = false
      } else if (!isSuspended && nowMs - heldMs > LEASE_MS) {
        isSuspended = true
        onEvent({ kind: 'suspended', detail: `Each validation reads the database. ${problem}` })
      }
    },
  }
}
