import fc from 'fast-check'
import { PRODUCTION_PARTS } from '../../tests/support/cluster-model/parts.ts'
import { clusterProperty } from '../../tests/support/cluster-model/property.ts'
import { newClusterTally } from '../../tests/support/cluster-model/tally.ts'
import { newTally, revocationProperty, type Tally } from '../../tests/support/revocation-model.ts'
import {
  ACKNOWLEDGEMENTS,
  ANNOUNCED,
  CACHE,
  CUSTOMER_AS_DIGEST,
  INSTANCE,
  LEASE,
  LOGIN_UNSETTLED,
  MARKED_FILL_JOINED,
  NO_FORGETTING,
  OTHERS_NOT_WAITED_FOR,
  READ_THEN_STORE,
  REFUSED_LOGOUT_UNSETTLED,
  TRIGGERS_NOT_COMPARED,
} from '../naive-forms.ts'
import type { Mutant, Row, Trial } from '../row.ts'

const MUTANT_RUNS = 1000
/**
 * Mutants get the same seed each time, because random runs would miss the rarest of them. The real code gets new runs
 * each time.
 */
const MUTANT_SEED = 11
/** The remaining runs have several instances, where more can go wrong. */
const SHARE_OF_ONE_INSTANCE = 0.2

/** Bugs of one cache without other instances. */
const CACHE_MUTANTS: readonly Mutant[] = [
  READ_THEN_STORE,
  MARKED_FILL_JOINED,
  {
    name: 'cleared before the commit',
    file: ANNOUNCED,
    find: `revoke: (token, atMs, timeoutMs) =>
      publishInvalidation(
        invalidations,
        { kind: 'digest', digest: token.digest },
        inner.revoke(token, atMs, timeoutMs),
      ),`,
    replace: `async revoke(token, atMs, timeoutMs) {
      await invalidations.publish({ kind: 'digest', digest: token.digest })
      return inner.revoke(token, atMs, timeoutMs)
    },`,
  },
  {
    name: 'acknowledged before other instances apply it',
    file: ANNOUNCED,
    find: 'if (mayHaveRevoked(result)) await invalidations.publish(invalidation)',
    replace: 'if (mayHaveRevoked(result)) void invalidations.publish(invalidation)',
  },
  {
    name: 'expiry is not compared on a hit',
    file: CACHE,
    find: `const cached = new CachedToken(owned, untilMonotonicMs)
    cache.set(digest, cached, leftMs)`,
    replace: `const lasting = { customer, token: { ...token, expiresAtMs: null } }
    const cached = new CachedToken(lasting, untilMonotonicMs)
    cache.set(digest, cached, untilMonotonicMs - clock.monotonicMs())`,
  },
]

/**
 * Bugs of the protocol between instances: leases, listener connections, and the instances that an acknowledgement waits
 * for.
 */
const AGREEMENT_MUTANTS: readonly Mutant[] = [
  {
    name: 'shares a lookup without a lease',
    file: CACHE,
    find: 'if (!invalidations.isCurrent()) return beginFill(digest, timeoutMs).reading',
    replace:
      'if (!invalidations.isCurrent()) return (fills.get(digest) ?? beginFill(digest, timeoutMs)).reading',
  },
  {
    name: 'forgets a pending lookup when it starts another',
    file: CACHE,
    find: '    mark(digest)\n    fills.set(digest, fill)',
    replace: '    fills.set(digest, fill)',
  },
  {
    name: 'the cache is used without a lease',
    file: INSTANCE,
    find: 'holdsLease: lease.holds',
    replace: 'holdsLease: () => true',
  },
  {
    name: 'the lease is counted from the return of a heartbeat',
    file: 'src/adapters/postgres/revocation/heartbeats.ts',
    find: 'onConfirmed(heartbeat.sentAt)',
    replace: 'onConfirmed(currentMoment(clock))',
  },
  {
    name: "a lease is a timer's flag",
    file: INSTANCE,
    find: 'const lease = createLease(clock)',
    replace: `const compared = createLease(clock)
  let isHeld = false
  let callOff = () => {}
  const lease = {
    grant(sentAt: Moment) {
      compared.grant(sentAt)
      isHeld = compared.holds()
      callOff()
      callOff = clock.after(sentAt.monotonicMs + 800 - clock.monotonicMs(), lease.end)
    },
    end() {
      isHeld = false
    },
    holds: () => isHeld,
  }`,
  },
  {
    name: 'no margin for clock drift',
    file: LEASE,
    find: 'const MARGIN_MS = 200',
    replace: 'const MARGIN_MS = 0',
  },
  {
    name: 'a margin for clocks that differ by two per cent',
    file: LEASE,
    find: 'const MARGIN_MS = 200',
    replace: 'const MARGIN_MS = 50',
  },
  {
    name: 'messages on the public channel are believed',
    file: INSTANCE,
    find: "else if (message === 'heartbeat') others.receivedHeartbeat(NAMELESS)",
    replace: "else if (payload.startsWith('1 ')) this.received(payload)",
  },
  {
    name: 'instances of the earlier version are not waited for',
    file: INSTANCE,
    find: "else if (message === 'heartbeat') others.receivedHeartbeat(NAMELESS)",
    replace: '',
  },
  {
    name: 'instances of a later version are not waited for',
    file: INSTANCE,
    find: `others.receivedHeartbeat(NAMELESS)
    warn(payload)`,
    replace: 'warn(payload)',
  },
  {
    name: 'the sleep of a machine is not detected',
    file: LEASE,
    find: 'return wallElapsedMs >= 0 && wallElapsedMs < LEASE_MS - MARGIN_MS',
    replace: 'return true',
  },
  NO_FORGETTING,
  TRIGGERS_NOT_COMPARED,
  LOGIN_UNSETTLED,
  REFUSED_LOGOUT_UNSETTLED,
  heartbeatsBeforeTheConnection(),
  {
    name: 'an instance holds its lease and acknowledges without its listener connection',
    file: INSTANCE,
    find: `lease.end()
      others.disconnected()
    },

    received(payload) {
      // Earlier notifications do not matter: the first heartbeat of the next connection clears the cache (see \`reset\`).
      if (!isConnected) return`,
    replace: `others.disconnected()
    },

    received(payload) {
      const ask = isConnected ? null : decodeNotification(payload)
      if (ask?.kind === 'ask') handle(ask)
      if (!isConnected) return`,
  },
  {
    name: 'acknowledges before it applies',
    file: INSTANCE,
    find: 'for (const invalidation of message.invalidations) apply(invalidation)',
    replace: `clock.after(20, () => {
          for (const invalidation of message.invalidations) apply(invalidation)
        })`,
  },
  CUSTOMER_AS_DIGEST,
  {
    name: 'the list of instances is taken before its ask came back',
    file: INSTANCE,
    find: "request: (n) => send(encodeNotification({ kind: 'ask', instance: name, n })),",
    replace: `request(n) {
      send(encodeNotification({ kind: 'ask', instance: name, n }))
      others.receivedEcho(n)
    },`,
  },
  {
    name: 'asks as soon as its listener connection is up',
    file: ACKNOWLEDGEMENTS,
    find: 'if (nowMs - connectedMs < LEASE_MS) return',
    replace: 'if (connectedMs === Infinity) return',
  },
  OTHERS_NOT_WAITED_FOR,
  {
    name: 'waits for half a lease of a silent instance',
    file: 'src/adapters/postgres/revocation/membership.ts',
    find: 'const endsMs = beatMs + LEASE_MS',
    replace: 'const endsMs = beatMs + LEASE_MS / 2',
  },
]

/** Revocations are exact in every order of events that two models explore: of one instance, and of several. */
export const modelRows: readonly Row[] = [
  {
    id: 'G1',
    promise:
      'exact in the models: no validation after an acknowledgement accepts the token, none before refuses it',
    sizes: { ci: 3000, release: 100_000, mutant: MUTANT_RUNS },
    mutants: [...CACHE_MUTANTS, ...AGREEMENT_MUTANTS],
    async run(trial) {
      const one = newTally()
      const several = newClusterTally()
      const runsOfOne = Math.round(trial.size * SHARE_OF_ONE_INSTANCE)
      await play(trial, 'one instance', revocationProperty(PRODUCTION_PARTS.cached, one), runsOfOne, one)
      await play(
        trial,
        'several',
        clusterProperty(PRODUCTION_PARTS, several),
        trial.size - runsOfOne,
        several,
      )
    },
  },
]

/** Each run is a trial. The first failure ends the model. */
async function play<Ts>(
  trial: Trial,
  model: string,
  property: fc.IAsyncPropertyWithHooks<Ts>,
  runs: number,
  tally: Tally,
): Promise<void> {
  const { failed, numRuns, seed, errorInstance, counterexample } = await fc.check(property, {
    numRuns: runs,
    endOnFailure: true,
    ...(trial.size > MUTANT_RUNS ? {} : { seed: MUTANT_SEED }),
  })
  for (let run = 1; run <= numRuns; run++) {
    trial.expect(!failed || run < numRuns, () => {
      const reason = errorInstance instanceof Error ? errorInstance.message : `${errorInstance}`
      return `${firstLine(reason)}: ${model}, seed ${seed}, run ${run}\n${firstLine(fc.stringify(counterexample))}`
    })
  }
  if (failed) return
  const { afterAcknowledgement, accepted, hits } = tally
  trial.note(
    `${model}: ${runs} runs, ${afterAcknowledgement} validations after an acknowledgement, 0 accepted; ` +
      `${accepted} others accepted, ${hits} without their own lookup`,
  )
  // A model without such events proves nothing.
  const happened = Math.min(afterAcknowledgement, accepted, hits)
  trial.require(happened > runs, () => `${model}: too little happened: ${JSON.stringify(tally)}`)
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}

/** Removes three guards at once: each of them alone suffices. */
function heartbeatsBeforeTheConnection(): Mutant {
  const received = `
      const message = decodeNotification(payload)
      if (message === null) notDecoded(payload)
      else handle(message)
    },

    receivedInPublic(payload) {
      if (!isConnected) return
      const message = decodePublicNotification(payload)
      if (message === null) notDecoded(payload)
      else if (message === 'heartbeat') others.receivedHeartbeat(NAMELESS)
      else if (message === 'forget') apply({ kind: 'everything' })
    },

    published(payload, triggers) {
      `
  const published = `
      // Changes since the earlier state may not have been published, and earlier ones were not received at all.
      const isSame = triggers.fingerprint === fingerprint
      if (!isSame) reset(triggers)
      const message = decodeNotification(payload)
      if (triggers.problems.length > 0) return
      if (message?.kind === 'beat') heartbeats.confirm(message.n, 'isVerified')
      if (message?.kind === 'ask' && isSame) others.verified(message.n)
    },

    beat() {
      `
  return {
    name: 'heartbeats from before the listener connection count',
    file: INSTANCE,
    find: `if (!isConnected) return${received}if (!isConnected) return${published}if (isConnected) beat()`,
    replace: `if (!isConnected && !payload.startsWith('1 beat ')) return${received}${published}beat()`,
  }
}
