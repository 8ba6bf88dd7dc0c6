import type { Mutant } from './row.ts'

/** Mutants of revocation that several rows share. Each row finds them in its own way. */

export const ANNOUNCED = 'src/application/login-tokens/invalidating.ts'
export const CACHE = 'src/application/login-tokens/cached.ts'
const LOGIN_TOKENS = 'src/adapters/postgres/login-tokens.ts'
export const STORE_LOGIN = 'src/adapters/postgres/store-login.ts'
export const ACKNOWLEDGEMENTS = 'src/adapters/postgres/revocation/acknowledgements.ts'
export const INSTANCE = 'src/adapters/postgres/revocation/instance.ts'
export const LEASE = 'src/adapters/postgres/revocation/lease.ts'

export const READ_THEN_STORE: Mutant = {
  name: 'a lookup is cached despite an invalidation',
  file: CACHE,
  find: 'else if (!fill.marked) return store(digest, owned, untilMonotonicMs)',
  replace: 'else return store(digest, owned, untilMonotonicMs)',
}

export const MARKED_FILL_JOINED: Mutant = {
  name: 'a lookup that an invalidation marked is shared',
  file: CACHE,
  find: '    fill.marked = true\n    fills.delete(digest)',
  replace: '    fill.marked = true',
}

export const ACKNOWLEDGED_BEFORE_APPLIED: Mutant = {
  name: 'acknowledged before it is applied',
  file: ANNOUNCED,
  find: 'if (mayHaveRevoked(result)) await invalidations.publish(invalidation)',
  replace: '',
}

export const LOGIN_UNSETTLED: Mutant = {
  name: 'a login that finds nothing to revoke waits for no other instance',
  file: ANNOUNCED,
  find: "(revoked) => typeof revoked === 'number',",
  replace: "(revoked) => typeof revoked === 'number' && revoked > 0,",
}

export const REFUSED_LOGOUT_UNSETTLED: Mutant = {
  name: 'a logout that is refused waits for no other instance',
  file: 'src/application/use-cases/logout.ts',
  find: "await invalidations.publish({ kind: 'digest', digest })",
  replace: '',
}

export const UNKNOWN_OUTCOME_IGNORED: Mutant = {
  name: 'an unknown outcome is not applied',
  file: ANNOUNCED,
  find: 'invalidations.publish(invalidation).catch(() => {})',
  replace: '',
}

export const REVOKED_AGAIN: Mutant = {
  name: 'a revoked token is revoked again',
  file: LOGIN_TOKENS,
  find: 'where id = $1 and revoked_at is null and (expires_at',
  replace: 'where id = $1 and (expires_at',
}

export const NOTHING_APPLIED: Mutant = {
  name: 'notifications are not applied',
  file: INSTANCE,
  find: 'for (const invalidation of message.invalidations) apply(invalidation)',
  replace: '',
}

export const CUSTOMER_AS_DIGEST: Mutant = {
  name: 'a customer is treated as a digest',
  file: 'src/adapters/postgres/revocation/notifications.ts',
  find: "changed(words.map((customerId) => ({ kind: 'customer', customerId })))",
  replace: "changed(words.map((digest) => ({ kind: 'digest', digest })))",
}

export const NO_FORGETTING: Mutant = {
  name: 'a new listener connection does not clear the cache',
  file: INSTANCE,
  find: "    lease.end()\n    apply({ kind: 'everything' })\n    others.disconnected()",
  replace: '    lease.end()\n    others.disconnected()',
}

export const TRIGGERS_NOT_COMPARED: Mutant = {
  name: 'the state of the triggers is not checked',
  file: INSTANCE,
  find: 'const isSame = triggers.fingerprint === fingerprint',
  replace: 'const isSame = fingerprint !== null',
}

export const ENDLESS_LEASE: Mutant = {
  name: 'a lease never expires',
  file: LEASE,
  find: 'if (clock.monotonicMs() - sentAt.monotonicMs >= LEASE_MS - MARGIN_MS) return false',
  replace: 'return true',
}

export const OTHERS_NOT_WAITED_FOR: Mutant = {
  name: 'a logout waits for no other instance',
  file: 'src/adapters/postgres/revocation/rounds.ts',
  find: 'if (missing.size > 0) return',
  replace: '',
}
