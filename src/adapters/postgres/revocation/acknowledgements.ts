import type { Clock } from '../../../lib/clock.ts'
import { LEASE_MS } from './lease.ts'
import { createMembership } from './membership.ts'
import { createRounds } from './rounds.ts'

/** Waits until every instance has applied the changes that this one has committed. */
export interface Acknowledgements {
  /** Resolves when every instance has applied all changes committed before the call, after `LEASE_MS` at the latest. */
  settled(): Promise<void>
  /** The number of other instances that may hold a lease. */
  count(): number
  /** The listener connection is up: from now on this instance receives the messages of all others. */
  connected(): void
  /** The listener connection is lost: the list of instances is no longer complete. */
  disconnected(): void
  /** A heartbeat of another instance was received. */
  receivedHeartbeat(instance: string): void
  /** Another instance has stopped serving. */
  receivedBye(instance: string): void
  /** This instance's request `n` was received back. */
  receivedEcho(n: number): void
  /** The statement of request `n` found the triggers unchanged: every change committed before it has been published. */
  verified(n: number): void
  /** Another instance has acknowledged request `n`. */
  receivedAcknowledgement(instance: string, n: number): void
}

/** The names of this instance and of its verifiers among those that a round waits for. */
const OWN = 'own'
const VERIFIERS = 'verifiers'

/** A request that was sent and not received back, and the callers that wait for it. */
interface PendingRequest {
  readonly n: number
  /** The time after which the request counts as lost. */
  readonly voidMs: number
  readonly callers: readonly (() => void)[]
}

/**
 * Collects acknowledgements: one request covers every change committed before it was sent. An instance that does not
 * acknowledge is waited for until the lease of its last heartbeat before the request has expired.
 */
export function acknowledgements({
  clock,
  request,
  settleVerifiers = (done) => done(),
}: {
  readonly clock: Clock
  /** Sends request `n` to every instance. */
  readonly request: (n: number) => void
  /** Calls back when no verifier of this instance uses a validation from before the call. Default: at once. */
  readonly settleVerifiers?: (done: () => void) => void
}): Acknowledgements {
  const others = createMembership(clock)
  const rounds = createRounds(clock)
  let connectedMs = Infinity
  let requests = 0
  let verifiedRequest = 0
  let pending: PendingRequest | null = null
  /** The callers that the next request covers. */
  let waiting: (() => void)[] = []

  return {
    settled: () =>
      new Promise((resolve) => {
        const nowMs = clock.monotonicMs()
        // A lease that is valid after this belongs to a heartbeat sent after the commit.
        const cancel = clock.after(LEASE_MS, resolve)
        // Until then the list may lack an instance whose last heartbeat was sent before this connection listened.
        if (nowMs - connectedMs < LEASE_MS) return
        waiting.push(() => {
          cancel()
          resolve()
        })
        requestAcknowledgements()
      }),

    count: () => others.remainingMs().size,

    connected() {
      connectedMs = clock.monotonicMs()
    },

    disconnected() {
      connectedMs = Infinity
      others.clear()
      // The timers release the waiting callers.
      pending = null
      waiting = []
    },

    receivedHeartbeat: others.receivedHeartbeat,

    receivedBye(instance) {
      others.remove(instance)
      rounds.leave(instance)
    },

    receivedEcho(n) {
      if (pending?.n !== n) return
      // The list is complete now: a heartbeat that committed before the request was received before its echo.
      const leasesMs = new Map(others.remainingMs())
      // A request whose statement found the triggers changed is never verified: its callers wait for a whole lease.
      if (verifiedRequest < n) leasesMs.set(OWN, LEASE_MS)
      let isSettled = false
      settleVerifiers(() => {
        isSettled = true
        rounds.acknowledge(n, VERIFIERS)
      })
      if (!isSettled) leasesMs.set(VERIFIERS, LEASE_MS)
      rounds.open(n, { callers: pending.callers, leasesMs })
      pending = null
      requestAcknowledgements()
    },

    verified(n) {
      verifiedRequest = n
      rounds.acknowledge(n, OWN)
    },

    receivedAcknowledgement: (instance, n) => rounds.acknowledgeUpTo(n, instance),
  }

  function requestAcknowledgements(): void {
    const nowMs = clock.monotonicMs()
    if (waiting.length === 0 || (pending !== null && nowMs < pending.voidMs)) return
    requests += 1
    pending = { n: requests, voidMs: nowMs + LEASE_MS, callers: waiting }
    waiting = []
    request(requests)
  }
}
