import type { Invalidation } from '../../../application/ports/invalidations.ts'
import type { Clock } from '../../../lib/clock.ts'
import { type Acknowledgements, acknowledgements } from './acknowledgements.ts'
import { createLease, currentMoment, type Moment } from './lease.ts'
import { decodeNotification, encodeNotification, type ProtocolMessage } from './notifications.ts'
import type { TriggerState } from './trigger-state.ts'

/** One instance's part in the invalidation protocol, over any transport; decision record 0007 explains it. */
export interface Instance {
  /** The listener connection receives notifications from now on. */
  linked(): void
  /** The listener connection is lost: cached validations may not be used. */
  unlinked(): void
  /** A notification was received. */
  heard(payload: string): void
  /** The statement that published a payload of this instance has committed, and found the triggers in this state. */
  published(payload: string, triggers: TriggerState): void
  /** Sends a heartbeat if the listener connection is up. Called every `BEAT_MS`. */
  beat(): void
  /** Whether cached validations may be used now. */
  holdsLease(): boolean
  /** Resolves when every instance has applied all changes committed before the call. */
  settled(): Promise<void>
  /** Ends the lease and publishes that this instance has stopped serving. */
  leave(): void
}

/** The time between two heartbeats, in milliseconds. */
export const BEAT_MS = 250

/** More heartbeats than can be in flight within a lease. */
const REMEMBERED_BEATS = 8

/** Creates an instance with a unique name. `send` may lose or delay payloads. */
export function protocolInstance({
  name,
  clock,
  send,
  apply,
  warn,
  onReturn = () => {},
}: {
  readonly name: string
  readonly clock: Clock
  readonly send: (payload: string) => void
  readonly apply: (invalidation: Invalidation) => void
  /** Called with a notification that cannot be decoded. */
  readonly warn: (payload: string) => void
  /** Called with the milliseconds that each heartbeat took to return. */
  readonly onReturn?: ((lagMs: number) => void) | undefined
}): Instance {
  const lease = createLease(clock)
  const others: Acknowledgements = acknowledgements({
    clock,
    ask: (n) => send(encodeNotification({ says: 'ask', instance: name, n })),
  })
  const beatsSent = new Map<number, Beat>()
  let beats = 0
  /** The fingerprint of the triggers since the cache was last cleared; null until the connection has read one. */
  let fingerprint: string | null = null
  let isLinked = false
  let hasLeft = false
  /** False after a notification that cannot be decoded, until the next connection: it may be of a newer protocol. */
  let isUnderstood = true

  return {
    linked() {
      if (hasLeft) return
      isLinked = true
      isUnderstood = true
      beat()
    },

    unlinked() {
      isLinked = false
      fingerprint = null
      // A heartbeat sent before the next connection is up proves nothing about what that connection has missed.
      beatsSent.clear()
      lease.end()
      others.unlinked()
    },

    heard(payload) {
      // Earlier notifications do not matter: the connection begins with an empty cache.
      if (!isLinked) return
      const message = decodeNotification(payload)
      if (message === null) {
        isUnderstood = false
        lease.end()
        // Its sender may hold a lease without being on the list of instances.
        others.unlinked()
        apply({ kind: 'everything' })
        warn(payload)
      } else handle(message)
    },

    published(payload, triggers) {
      if (!isLinked) return
      // Changes since the earlier state may not have been published, and earlier ones were not received at all.
      const isSame = triggers.fingerprint === fingerprint
      if (!isSame) distrust(triggers)
      const message = decodeNotification(payload)
      if (triggers.problems.length > 0) return
      if (message?.says === 'beat') confirm(message.n, 'isVerified')
      if (message?.says === 'ask' && isSame) others.verified(message.n)
    },

    beat() {
      if (isLinked) beat()
    },

    holdsLease: lease.holds,
    settled: others.settled,

    leave() {
      hasLeft = true
      isLinked = false
      lease.end()
      send(encodeNotification({ says: 'bye', instance: name }))
    },
  }

  function beat(): void {
    beats += 1
    beatsSent.set(beats, { sentAt: currentMoment(clock), hasReturned: false, isVerified: false })
    beatsSent.delete(beats - REMEMBERED_BEATS)
    send(encodeNotification({ says: 'beat', instance: name, n: beats }))
  }

  function handle(message: ProtocolMessage): void {
    switch (message.says) {
      case 'changed':
        for (const invalidation of message.invalidations) apply(invalidation)
        break
      case 'beat':
        if (message.instance === name) cameBack(message.n)
        else others.heardBeat(message.instance)
        break
      case 'ask':
        if (message.instance === name) others.heardEcho(message.n)
        else send(encodeNotification({ says: 'seen', instance: name, asker: message.instance, n: message.n }))
        break
      case 'seen':
        if (message.asker === name) others.heardSeen(message.instance, message.n)
        break
      case 'bye':
        others.heardBye(message.instance)
        break
    }
  }

  function cameBack(n: number): void {
    const sentAt = beatsSent.get(n)?.sentAt
    if (sentAt === undefined) return
    onReturn(clock.monotonicMs() - sentAt.monotonicMs)
    confirm(n, 'hasReturned')
  }

  /** Grants the lease of a heartbeat that came back and whose statement found the triggers intact. */
  function confirm(n: number, what: 'hasReturned' | 'isVerified'): void {
    const sent = beatsSent.get(n)
    if (sent === undefined) return
    sent[what] = true
    if (!sent.hasReturned || !sent.isVerified) return
    // Earlier heartbeats that are still in flight prove less than this one.
    for (const earlier of [...beatsSent.keys()]) if (earlier <= n) beatsSent.delete(earlier)
    if (isUnderstood) lease.grant(sent.sentAt)
  }

  function distrust(triggers: TriggerState): void {
    fingerprint = triggers.fingerprint
    lease.end()
    apply({ kind: 'everything' })
    others.unlinked()
    if (triggers.problems.length === 0 && isUnderstood) others.linked()
  }
}

/** A heartbeat of this instance that has not granted a lease yet. */
interface Beat {
  readonly sentAt: Moment
  hasReturned: boolean
  isVerified: boolean
}
