import type { Invalidation } from '../../../application/ports/invalidations.ts'
import type { Clock } from '../../../lib/clock.ts'
import { type Acknowledgements, acknowledgements } from './acknowledgements.ts'
import { createLease, currentMoment, type Moment } from './lease.ts'
import { decodeNotification, encodeNotification, type ProtocolMessage } from './notifications.ts'
import type { TriggerState } from './trigger-state.ts'

/** One instance's part in the agreement, whatever carries its notices; the decision record 0007 argues for it. */
export interface Instance {
  /** The link listens from now on. */
  linked(): void
  /** The link is lost: nothing that is kept may be used. */
  unlinked(): void
  /** A notification came on the link. */
  heard(payload: string): void
  /** The statement that published a payload of this instance has committed, and found the triggers in this state. */
  published(payload: string, triggers: TriggerState): void
  /** To be called every `BEAT_MS`: says that this instance is here, if its link is up. */
  beat(): void
  /** Whether what is kept may be used now. */
  holdsLease(): boolean
  /** Resolves when every instance obeys all that was committed before the call. */
  settled(): Promise<void>
  /** Says goodbye: nothing that is kept is used any more. */
  leave(): void
}

/** The time between two heartbeats, in milliseconds. */
export const BEAT_MS = 250

/** More heartbeats than can be under way within a lease. */
const REMEMBERED_BEATS = 8

/** An instance with a name that no other has. `send` may lose what it is given, and delay it. */
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
  /** Hears of a notification that could not be understood. */
  readonly warn: (payload: string) => void
  /** Hears how long each heartbeat took to come back, in milliseconds. */
  readonly onReturn?: ((lagMs: number) => void) | undefined
}): Instance {
  const lease = createLease(clock)
  const others: Acknowledgements = acknowledgements({
    clock,
    ask: (n) => send(encodeNotification({ says: 'ask', instance: name, n })),
  })
  const beatsSent = new Map<number, Beat>()
  let beats = 0
  /** The fingerprint of the triggers since the cache was last cleared; null before the first of a link. */
  let fingerprint: string | null = null
  let isLinked = false
  let hasLeft = false
  /** False from a notice that could not be understood until the next link: it may have been of a newer agreement. */
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
      // A heartbeat that was sent before the next link is up tells nothing about what that link has missed.
      beatsSent.clear()
      lease.end()
      others.unlinked()
    },

    heard(payload) {
      // What is said before the link counts as up is covered by the forgetting that it begins with.
      if (!isLinked) return
      const notice = decodeNotification(payload)
      if (notice === null) {
        isUnderstood = false
        lease.end()
        // Whoever said it may hold a lease and not be on the list.
        others.unlinked()
        apply({ kind: 'everything' })
        warn(payload)
      } else handle(notice)
    },

    published(payload, triggers) {
      if (!isLinked) return
      // What was committed since the earlier state may not have been announced, and before the link nothing was heard.
      const isSame = triggers.fingerprint === fingerprint
      if (!isSame) distrust(triggers)
      const notice = decodeNotification(payload)
      if (triggers.problems.length > 0) return
      if (notice?.says === 'beat') confirm(notice.n, 'isVerified')
      if (notice?.says === 'ask' && isSame) others.verified(notice.n)
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

  function handle(notice: ProtocolMessage): void {
    switch (notice.says) {
      case 'changed':
        for (const invalidation of notice.invalidations) apply(invalidation)
        break
      case 'beat':
        if (notice.instance === name) cameBack(notice.n)
        else others.heardBeat(notice.instance)
        break
      case 'ask':
        if (notice.instance === name) others.heardEcho(notice.n)
        else send(encodeNotification({ says: 'seen', instance: name, asker: notice.instance, n: notice.n }))
        break
      case 'seen':
        if (notice.asker === name) others.heardSeen(notice.instance, notice.n)
        break
      case 'bye':
        others.heardBye(notice.instance)
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
    const own = beatsSent.get(n)
    if (own === undefined) return
    own[what] = true
    if (!own.hasReturned || !own.isVerified) return
    // Also whatever was sent before it and is still under way says less than this one.
    for (const earlier of [...beatsSent.keys()]) if (earlier <= n) beatsSent.delete(earlier)
    if (isUnderstood) lease.grant(own.sentAt)
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
