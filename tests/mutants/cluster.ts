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
import { cachedLoginTokens } from '../../src/application/login-tokens/cached.ts'
import type { NewLogin } from '../../src/application/ports/login-tokens.ts'
import type { Digest, OwnedToken } from '../../src/domain/login-token.ts'
import type { Clock } from '../../src/lib/clock.ts'
import type { Parts } from '../support/cluster-model/parts.ts'
import type { MakeCached } from '../support/revocation-model.ts'
import { sketchOfCache } from './caching.ts'

type MakeInstance = typeof protocolInstance

/** The mistakes that are easily made among several instances; the tests must find each of them. */
export const CLUSTER_MUTANTS: Readonly<Record<string, Partial<Parts>>> = {
  'sends its heartbeats on the link': { beatsByLink: true },
  'announces customers as digests': { customersAsDigests: true },
  'shares a look-up without a lease': { cached: sharingLookUps },
  'stores what was read while an invalidation came': {
    cached: sketchOfCache('stores what was read while an invalidation came'),
  },
  'loses sight of a look-up when it begins another': {
    cached: sketchOfCache('loses sight of a look-up when it begins another'),
  },
  'acknowledges before others obey': { cached: sketchOfCache('acknowledges before the invalidation') },
  'invalidates before the commit': { cached: sketchOfCache('invalidates before the commit') },
  'takes a customer for a digest': { cached: sketchOfCache('takes a customer for a digest') },
  'compares the expiry when it reads, not on a hit': {
    cached: sketchOfCache('compares the expiry when it reads, not on a hit'),
  },
  'uses what it keeps without a lease': { instance: withoutLease },
  'takes the list of instances before its ask came back': { instance: hastyList },
  'waits for no instance once its ask came back': { instance: deafToOthers },
  'asks as soon as its link is up': { instance: hastyAsk },
  'keeps its cache when the triggers were changed': { instance: keepingAllOfOldTriggers },
  'takes a lease without looking at the triggers': { instance: blindToTriggers },
  'trusts an ask that found the triggers changed': { instance: trustingItsAsk },
  'settles no login that finds nothing to revoke': { cached: hastyLogin },
  'settles no logout of a token that it refuses': {
    authenticateForLogout: (_, authenticate) => authenticate,
  },
  'forgets nothing when its link is back': { instance: keepingAll },
  'counts the lease from the return of a heartbeat': { instance: lateLease },
  'keeps the lease as the flag of a timer': { instance: flaggedLease },
  'counts heartbeats that come back before its link is up': { instance: earlyBeats },
  'leaves the clocks no margin': { instance: fullLease },
  'answers what it has not obeyed yet': { instance: hastyAnswer },
  'keeps its lease and answers while its link is down': { instance: answeringUnlinked },
}

/** Rules that another one makes up for: without one of them alone nothing goes wrong. */
export const SPARE_MUTANTS: Readonly<Record<string, Partial<Parts>>> = {
  'answers while its link is down, without a lease': {
    instance: (options) => answeringUnlinked(options, false),
  },
  'counts heartbeats that it sent before its link came up': {
    instance: (options) => earlyBeats(options, true),
  },
}

function sharingLookUps(...[inner, cache, invalidations, clock, options]: Parameters<MakeCached>) {
  const shared = new Map<Digest, Promise<OwnedToken | null>>()
  invalidations.subscribe((invalidation) => {
    if (invalidation.kind === 'digest') shared.delete(invalidation.digest)
    else shared.clear()
  })
  const tokens = cachedLoginTokens(inner, cache, invalidations, clock, options)
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
      if (decodeNotification(payload)?.says === 'ask') instance.heard(payload)
    },
  })
  return instance
}

function deafToOthers(options: Parameters<MakeInstance>[0]) {
  const instance = protocolInstance(options)
  return {
    ...instance,
    heard(payload: string) {
      const notice = decodeNotification(payload)
      if (notice?.says !== 'beat' || notice.instance === options.name) instance.heard(payload)
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

/** Does not clear the cache: on the first statement of a link, or on a later one that found the triggers changed. */
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
    linked() {
      isFirst = true
      instance.linked()
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
      if (decodeNotification(payload)?.says !== 'ask') last = triggers
      instance.published(payload, last)
    },
  }
}

function hastyLogin(...[inner, cache, invalidations, clock, options]: Parameters<MakeCached>) {
  const tokens = cachedLoginTokens(inner, cache, invalidations, clock, options)
  return {
    ...tokens,
    async replace(login: NewLogin, timeoutMs: number) {
      const revoked = await inner.replace(login, timeoutMs)
      if (revoked) await invalidations.publish({ kind: 'customer', customerId: login.token.customerId })
      return revoked
    },
  }
}

/** With a lease of its own, granted for each heartbeat that comes back. */
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
  let isLinked = false
  let fingerprint = ''
  return {
    ...instance,
    isLinked: () => isLinked,
    say: (notice: Parameters<typeof encodeNotification>[0]) => send(encodeNotification(notice)),
    linked() {
      isLinked = true
      if (forgetsSent) sent.clear()
      instance.linked()
    },
    unlinked() {
      isLinked = false
      lease.end()
      instance.unlinked()
    },
    heard(payload: string) {
      instance.heard(payload)
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
    if (own === undefined || decodeNotification(payload)?.says !== 'beat') return
    own[what] = true
    if (own.hasReturned && own.isVerified && (isLinked || !needsLink)) lease.grant(own.moment)
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
      callOff = clock.after(sentAt.monotonicMs + LEASE_MS - 50 - clock.monotonicMs(), () => {
        isHeld = false
      })
    },
    end() {
      isHeld = false
    },
    holds: () => isHeld,
  })
}

function fullLease(options: Parameters<MakeInstance>[0]) {
  let untilMs = 0
  return withOwnLease(options, {
    grant(sentAt) {
      untilMs = Math.max(untilMs, sentAt.monotonicMs + LEASE_MS)
    },
    end() {
      untilMs = 0
    },
    holds: () => options.clock.monotonicMs() < untilMs,
  })
}

/** Its heartbeats go out whether the link is up or not, and one from before counts when it comes back. */
function earlyBeats(options: Parameters<MakeInstance>[0], needsLink = false) {
  const instance = withOwnLease(options, createLease(options.clock), { forgetsSent: false, needsLink })
  // Numbers that no other heartbeat has.
  let unlinkedBeats = 1_000_000
  return {
    ...instance,
    beat() {
      if (instance.isLinked()) instance.beat()
      else instance.say({ says: 'beat', instance: options.name, n: ++unlinkedBeats })
    },
  }
}

function hastyAnswer(options: Parameters<MakeInstance>[0]) {
  // What comes is obeyed a moment later, and asks are answered at once.
  const instance = protocolInstance({
    ...options,
    apply(invalidation) {
      options.clock.after(20, () => options.apply(invalidation))
    },
  })
  return instance
}

function answeringUnlinked(options: Parameters<MakeInstance>[0], keepsLease = true) {
  const lease = createLease(options.clock)
  const instance = withOwnLease(options, keepsLease ? { ...lease, end() {} } : lease)
  return {
    ...instance,
    heard(payload: string) {
      const notice = decodeNotification(payload)
      if (instance.isLinked() || notice?.says !== 'ask') instance.heard(payload)
      else
        options.send(
          encodeNotification({ says: 'seen', instance: options.name, asker: notice.instance, n: notice.n }),
        )
    },
  }
}
