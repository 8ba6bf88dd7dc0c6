import { protocolInstance } from '../../src/adapters/postgres/revocation/instance.ts'
import {
  createLease,
  currentMoment,
  LEASE_MS,
  type Moment,
} from '../../src/adapters/postgres/revocation/lease.ts'
import {
  decodeNotification,
  encodeNotification,
} from '../../src/adapters/postgres/revocation/notifications.ts'
import type { TriggerState } from '../../src/adapters/postgres/revocation/trigger-state.ts'
import type { NewLogin } from '../../src/application/ports/login-tokens.ts'
import type { Digest, OwnedToken } from '../../src/domain/login-token.ts'
import type { Clock } from '../../src/lib/clock.ts'
import type { Parts } from '../support/cluster-model/parts.ts'
import { cachedInvalidating, type MakeCached } from '../support/revocation-model.ts'
import { sketchOfCache } from './caching.ts'

type MakeInstance = typeof protocolInstance

/** Common bugs of an instance among several. The tests must find each of them. */
export const CLUSTER_MUTANTS: Readonly<Record<string, Partial<Parts>>> = {
  'sends its heartbeats on the listener connection': { beatsByLink: true },
  'announces customers as digests': { customersAsDigests: true },
  'shares a lookup without a lease': { cached: sharingLookups },
  'stores a row that was read during an invalidation': {
    cached: sketchOfCache('stores a row that was read during an invalidation'),
  },
  'forgets a pending lookup when it starts another': {
    cached: sketchOfCache('forgets a pending lookup when it starts another'),
  },
  'acknowledges before other instances apply the revocation': {
    cached: sketchOfCache('acknowledges before the invalidation'),
  },
  'invalidates before the commit': { cached: sketchOfCache('invalidates before the commit') },
  'treats a customer as a digest': { cached: sketchOfCache('treats a customer as a digest') },
  'compares the expiry on a read, not on a hit': {
    cached: sketchOfCache('compares the expiry on a read, not on a hit'),
  },
  'uses its cache without a lease': { instance: withoutLease },
  'takes the list of instances before its ask came back': { instance: hastyList },
  'waits for no instance after its ask came back': { instance: deafToOthers },
  'asks as soon as its listener connection is up': { instance: hastyAsk },
  'does not clear its cache when the triggers have changed': { instance: keepingAllOfOldTriggers },
  'takes a lease without checking the triggers': { instance: blindToTriggers },
  'accepts an ask that found the triggers changed': { instance: trustingItsAsk },
  'does not wait for other instances on a login that revokes nothing': { cached: hastyLogin },
  'does not wait for other instances on a logout that it refuses': {
    authenticateForLogout: (_, authenticate) => authenticate,
  },
  'does not clear its cache when its listener connection is back': { instance: keepingAll },
  'counts the lease from the return of a heartbeat': { instance: lateLease },
  "stores the lease as a timer's flag": { instance: flaggedLease },
  'counts heartbeats that come back before its listener connection is up': { instance: earlyBeats },
  'leaves no margin for clock drift': { instance: (options) => leaseOf(options, LEASE_MS) },
  'leaves a margin for clocks that differ by two per cent': {
    instance: (options) => leaseOf(options, LEASE_MS - 50),
  },
  'believes what it receives on the public channel': { instance: trustingEverybody },
  'waits for no instance of the previous version': { instance: deafToPrevious },
  'waits for no instance whose messages it cannot decode': { instance: deafToNext },
  'takes the first acknowledgement for that of every instance': { instance: hastyAsker },
  'acknowledges before it applies': { instance: acknowledgeEarly },
  'holds its lease and acknowledges while its listener connection is down': { instance: acknowledgeUnlinked },
}

/** Redundant rules: another rule covers each of them, so that removing one alone breaks nothing. */
export const SPARE_MUTANTS: Readonly<Record<string, Partial<Parts>>> = {
  'acknowledges while its listener connection is down, without a lease': {
    instance: (options) => acknowledgeUnlinked(options, false),
  },
  'counts heartbeats that it sent before its listener connection came up': {
    instance: (options) => earlyBeats(options, true),
  },
}

function sharingLookups(...[inner, cache, invalidations, clock, options]: Parameters<MakeCached>) {
  const shared = new Map<Digest, Promise<OwnedToken | null>>()
  invalidations.subscribe((invalidation) => {
    if (invalidation.kind === 'digest') shared.delete(invalidation.digest)
    else shared.clear()
  })
  const tokens = cachedInvalidating(inner, cache, invalidations, clock, options)
  return {
    ...tokens,
    findByDigest(digest: Digest, timeoutMs: number) {
      if (invalidations.isCurrent()) return tokens.findByDigest(digest, timeoutMs)
      const reading = shared.get(digest) ?? Promise.resolve(tokens.findByDigest(digest, timeoutMs))
      shared.set(digest, reading)
      const remove = () => {
        if (shared.get(digest) === reading) shared.delete(digest)
      }
      reading.then(remove, remove)
      return reading
    },
  }
}

function withoutLease(options: Parameters<MakeInstance>[0]) {
  return { ...protocolInstance(options), holdsLease: () => true }
}

function hastyList(options: Parameters<MakeInstance>[0]) {
  const instance = protocolInstance({
    ...options,
    send(payload) {
      options.send(payload)
      if (decodeNotification(payload)?.kind === 'ask') instance.received(payload)
    },
  })
  return instance
}

function deafToOthers(options: Parameters<MakeInstance>[0]) {
  const instance = protocolInstance(options)
  return {
    ...instance,
    received(payload: string) {
      const notice = decodeNotification(payload)
      if (notice?.kind !== 'beat' || notice.instance === options.name) instance.received(payload)
    },
  }
}

function hastyAsk(options: Parameters<MakeInstance>[0]) {
  const { clock } = options
  let agoMs = 0
  const moved: Clock = { ...clock, monotonicMs: () => clock.monotonicMs() - agoMs }
  const instance = protocolInstance({ ...options, clock: moved })
  return {
    ...instance,
    published(payload: string, triggers: TriggerState) {
      agoMs = LEASE_MS
      instance.published(payload, triggers)
      agoMs = 0
    },
  }
}

/**
 * Does not clear the cache on the first statement of a listener connection, or on a later one that found the triggers
 * changed.
 */
function keepingAll(options: Parameters<MakeInstance>[0], when: 'linking' | 'later' = 'linking') {
  let isFirst = true
  let keeps = false
  const instance = protocolInstance({
    ...options,
    apply(invalidation) {
      if (!keeps) options.apply(invalidation)
    },
  })
  return {
    ...instance,
    connected() {
      isFirst = true
      instance.connected()
    },
    published(payload: string, triggers: TriggerState) {
      keeps = isFirst === (when === 'linking')
      isFirst = false
      instance.published(payload, triggers)
      keeps = false
    },
  }
}

function keepingAllOfOldTriggers(options: Parameters<MakeInstance>[0]) {
  return keepingAll(options, 'later')
}

const INTACT: TriggerState = { fingerprint: 'intact', problems: [] }

function blindToTriggers(options: Parameters<MakeInstance>[0]) {
  const instance = protocolInstance(options)
  return { ...instance, published: (payload: string) => instance.published(payload, INTACT) }
}

function trustingItsAsk(options: Parameters<MakeInstance>[0]) {
  const instance = protocolInstance(options)
  let last = INTACT
  return {
    ...instance,
    published(payload: string, triggers: TriggerState) {
      if (decodeNotification(payload)?.kind !== 'ask') last = triggers
      instance.published(payload, last)
    },
  }
}

function hastyLogin(...[inner, cache, invalidations, clock, options]: Parameters<MakeCached>) {
  const tokens = cachedInvalidating(inner, cache, invalidations, clock, options)
  return {
    ...tokens,
    async replace(login: NewLogin, timeoutMs: number) {
      const revoked = await inner.replace(login, timeoutMs)
      if (revoked) await invalidations.publish({ kind: 'customer', customerId: login.token.customerId })
      return revoked
    },
  }
}

/** An instance with a custom lease, granted for each heartbeat that comes back. */
function withOwnLease(
  options: Parameters<MakeInstance>[0],
  lease: { grant(sentAt: Moment): void; end(): void; holds(): boolean },
  { forgetsSent = true, needsLink = true } = {},
) {
  const sent = new Map<string, Sent>()
  const send = (payload: string) => {
    sent.set(payload, { moment: currentMoment(options.clock), hasReturned: false, isVerified: false })
    options.send(payload)
  }
  const instance = protocolInstance({ ...options, send })
  let isConnected = false
  let fingerprint = ''
  return {
    ...instance,
    isConnected: () => isConnected,
    say: (notice: Parameters<typeof encodeNotification>[0]) => send(encodeNotification(notice)),
    connected() {
      isConnected = true
      if (forgetsSent) sent.clear()
      instance.connected()
    },
    disconnected() {
      isConnected = false
      lease.end()
      instance.disconnected()
    },
    received(payload: string) {
      instance.received(payload)
      confirm(payload, 'hasReturned')
    },
    published(payload: string, triggers: TriggerState) {
      instance.published(payload, triggers)
      if (triggers.fingerprint !== fingerprint) lease.end()
      fingerprint = triggers.fingerprint
      if (triggers.problems.length === 0) confirm(payload, 'isVerified')
    },
    holdsLease: () => lease.holds(),
  }

  function confirm(payload: string, what: 'hasReturned' | 'isVerified'): void {
    const own = sent.get(payload)
    if (own === undefined || decodeNotification(payload)?.kind !== 'beat') return
    own[what] = true
    if (own.hasReturned && own.isVerified && (isConnected || !needsLink)) lease.grant(own.moment)
  }
}

interface Sent {
  readonly moment: Moment
  hasReturned: boolean
  isVerified: boolean
}

function lateLease(options: Parameters<MakeInstance>[0]) {
  const lease = createLease(options.clock)
  return withOwnLease(options, { ...lease, grant: () => lease.grant(currentMoment(options.clock)) })
}

function flaggedLease(options: Parameters<MakeInstance>[0]) {
  const lease = createLease(options.clock)
  let isHeld = false
  let callOff = () => {}
  return withOwnLease(options, {
    grant(sentAt) {
      lease.grant(sentAt)
      isHeld = lease.holds()
      callOff()
      const { clock } = options
      callOff = clock.after(sentAt.monotonicMs + LEASE_MS - 200 - clock.monotonicMs(), () => {
        isHeld = false
      })
    },
    end() {
      isHeld = false
    },
    holds: () => isHeld,
  })
}

function leaseOf(options: Parameters<MakeInstance>[0], ms: number) {
  let untilMs = 0
  return withOwnLease(options, {
    grant(sentAt) {
      untilMs = Math.max(untilMs, sentAt.monotonicMs + ms)
    },
    end() {
      untilMs = 0
    },
    holds: () => options.clock.monotonicMs() < untilMs,
  })
}

function trustingEverybody(options: Parameters<MakeInstance>[0]) {
  const instance = protocolInstance(options)
  return {
    ...instance,
    receivedInPublic(payload: string) {
      if (payload.startsWith('1 ')) instance.received(payload)
      else instance.receivedInPublic(payload)
    },
  }
}

function deafToPrevious(options: Parameters<MakeInstance>[0]) {
  return { ...protocolInstance(options), receivedInPublic() {} }
}

function deafToNext(options: Parameters<MakeInstance>[0]) {
  const instance = protocolInstance(options)
  return {
    ...instance,
    received(payload: string) {
      if (decodeNotification(payload) === null) options.apply({ kind: 'everything' })
      else instance.received(payload)
    },
  }
}

/** Sends heartbeats without a listener connection too, and counts an earlier one when it comes back. */
function earlyBeats(options: Parameters<MakeInstance>[0], needsLink = false) {
  const instance = withOwnLease(options, createLease(options.clock), { forgetsSent: false, needsLink })
  // Numbers that no other heartbeat uses.
  let unlinkedBeats = 1_000_000
  return {
    ...instance,
    beat() {
      if (instance.isConnected()) instance.beat()
      else instance.say({ kind: 'beat', instance: options.name, n: ++unlinkedBeats })
    },
  }
}

function hastyAsker(options: Parameters<MakeInstance>[0]) {
  const instance = protocolInstance(options)
  const others = new Set<string>()
  return {
    ...instance,
    received(payload: string) {
      const notice = decodeNotification(payload)
      if (notice?.kind === 'beat') others.add(notice.instance)
      instance.received(payload)
      if (notice?.kind !== 'seen') return
      for (const other of others) instance.received(encodeNotification({ ...notice, instance: other }))
    },
  }
}

function acknowledgeEarly(options: Parameters<MakeInstance>[0]) {
  // Applies notifications 20 ms later, but acknowledges at once.
  const instance = protocolInstance({
    ...options,
    apply(invalidation) {
      options.clock.after(20, () => options.apply(invalidation))
    },
  })
  return instance
}

function acknowledgeUnlinked(options: Parameters<MakeInstance>[0], keepsLease = true) {
  const lease = createLease(options.clock)
  const instance = withOwnLease(options, keepsLease ? { ...lease, end() {} } : lease)
  return {
    ...instance,
    received(payload: string) {
      const notice = decodeNotification(payload)
      if (instance.isConnected() || notice?.kind !== 'ask') instance.received(payload)
      else
        options.send(
          encodeNotification({ kind: 'seen', instance: options.name, asker: notice.instance, n: notice.n }),
        )
    },
  }
}
