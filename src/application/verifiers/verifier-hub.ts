import type { Clock } from '../../lib/clock.ts'
import type { Invalidations } from '../ports/invalidations.ts'
import { AcknowledgementRounds, type LeaseHolder } from './acknowledgement-rounds.ts'
import { encodeInvalidation } from './invalidation-line.ts'
import { Penalties } from './penalties.ts'
import type {
  ConnectedVerifier,
  DisconnectReason,
  VerifierConnection,
  VerifierObservers,
  VerifierSession,
} from './verifier-session.ts'

interface Session extends LeaseHolder {
  readonly connection: VerifierConnection
  grantedUntilMs: number
  lastSeenMs: number
}

/**
 * The verifiers of one process: other processes that cache validations by the lease of this one. Forwards every
 * invalidation before any later lease, and delays each acknowledgement until every verifier has applied what came before
 * it, or the lease of this process from which it was last granted has ended. Decision record 0015 explains the rules.
 */
export class VerifierHub {
  readonly #clock: Clock
  readonly #invalidations: Invalidations
  readonly #observers: VerifierObservers
  readonly #sessions = new Set<Session>()
  readonly #rounds: AcknowledgementRounds
  readonly #penalties: Penalties
  /** Holds the leases of all connections that were lost. It never acknowledges, so that they are waited out. */
  readonly #lost = { grantedUntilMs: Number.NEGATIVE_INFINITY, ask() {}, expired() {} }
  #isLeaving = false

  constructor(invalidations: Invalidations, clock: Clock, observers: VerifierObservers = {}) {
    this.#clock = clock
    this.#invalidations = invalidations
    this.#observers = observers
    this.#penalties = new Penalties(clock)
    this.#rounds = new AcknowledgementRounds(clock)
    invalidations.subscribe((invalidation) => {
      if (this.#sessions.size > 0) this.#forward(encodeInvalidation(invalidation))
    })
    invalidations.onSettle?.((done) => this.settle(done))
  }

  get size(): number {
    return this.#sessions.size
  }

  get isLeaving(): boolean {
    return this.#isLeaving
  }

  /** Returns the connected verifiers, the oldest connection first. */
  list(): readonly ConnectedVerifier[] {
    return [...this.#sessions].map(({ connection, lastSeenMs }) => ({ name: connection.name, lastSeenMs }))
  }

  /** Registers a connection, before anything is read from it. Throws what the observer throws; it is not registered then. */
  open(connection: VerifierConnection): VerifierSession {
    const session: Session = {
      connection,
      grantedUntilMs: Number.NEGATIVE_INFINITY,
      lastSeenMs: this.#clock.nowMs(),
      ask: (n) => connection.send(`ask ${n}`),
      expired: (askedMs) => {
        if (this.#sessions.has(session) && this.#penalties.addExpiry(connection.name, askedMs))
          this.#disconnect(session, 'hung')
      },
    }
    this.#observers.onConnected?.(connection)
    // A verifier has one connection: an earlier one is half-open, which is not the verifier's fault.
    for (const other of [...this.#sessions]) {
      if (other.connection.name !== connection.name) continue
      this.#lose(other)
      other.connection.close()
    }
    this.#sessions.add(session)
    return {
      beat: (k) => this.#grant(session, k),
      seen: (n) => this.#acknowledge(session, n),
      bye: () => {
        if (this.#sessions.delete(session)) this.#rounds.acknowledge(session, Infinity)
      },
      lost: () => this.#lose(session),
      disconnect: (reason) => this.#disconnect(session, reason),
    }
  }

  /** Calls back when no verifier uses a validation from before the call; at once when none may. */
  settle(done: () => void): void {
    this.#rounds.begin([...this.#sessions, this.#lost], done)
  }

  /** Grants no further lease, notifies every verifier, and resolves when none uses a validation any more. */
  leave(): Promise<void> {
    this.#isLeaving = true
    this.#forward('leave')
    return new Promise((resolve) => this.settle(resolve))
  }

  /** Closes every connection whose verifier `isRefused` returns true for. */
  disconnect(isRefused: (connection: VerifierConnection) => boolean, reason: DisconnectReason): void {
    for (const session of [...this.#sessions])
      if (isRefused(session.connection)) this.#disconnect(session, reason)
  }

  #forward(line: string): void {
    for (const { connection } of this.#sessions) connection.send(line)
  }

  #grant(session: Session, k: number): void {
    // A lost connection gets no lease, although bytes of it may still be read.
    if (!this.#sessions.has(session)) return
    const { connection } = session
    session.lastSeenMs = this.#clock.nowMs()
    const isLate = this.#penalties.isLate(this.#rounds.oldestAskMs(session))
    const isRefused = this.#isLeaving || isLate || this.#penalties.has(connection.name)
    const lease = isRefused ? null : (this.#invalidations.lease?.() ?? null)
    if (lease === null) {
      connection.send(`wait ${k}`)
      return
    }
    session.grantedUntilMs = Math.max(session.grantedUntilMs, lease.endMs)
    connection.send(`lease ${k} ${Math.floor(lease.leftMs)}`)
  }

  #acknowledge(session: Session, n: number): void {
    const askedMs = this.#rounds.oldestAskMs(session)
    if (askedMs === null || !this.#sessions.has(session)) return
    this.#observers.onAcknowledged?.(this.#clock.monotonicMs() - askedMs)
    this.#rounds.acknowledge(session, n)
    if (this.#penalties.addAcknowledgement(session.connection.name, askedMs))
      this.#disconnect(session, 'hung')
  }

  #disconnect(session: Session, reason: DisconnectReason): void {
    if (!this.#lose(session)) return
    session.connection.close()
    this.#observers.onDisconnected?.(session.connection, reason)
  }

  /** Rounds in progress keep their own timers. Returns whether the connection was open. */
  #lose(session: Session): boolean {
    if (!this.#sessions.delete(session)) return false
    this.#lost.grantedUntilMs = Math.max(this.#lost.grantedUntilMs, session.grantedUntilMs)
    return true
  }
}
