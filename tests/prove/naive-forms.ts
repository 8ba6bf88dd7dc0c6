import type { Mutant } from './row.ts'

/** Naive forms of revocation that more than one row finds out, each in its own way. */

export const ANNOUNCED = 'src/application/login-tokens/invalidating.ts'
export const CACHE = 'src/application/login-tokens/cached.ts'
export const LOGIN_TOKENS = 'src/adapters/postgres/login-tokens.ts'
export const ACKNOWLEDGEMENTS = 'src/adapters/postgres/revocation/acknowledgements.ts'
export const INSTANCE = 'src/adapters/postgres/revocation/instance.ts'
export const LEASE = 'src/adapters/postgres/revocation/lease.ts'

export const READ_THEN_STORE: Mutant = {
  name: 'read then store',
  file: CACHE,
  find: 'else if (!fill.marked) store(digest, owned, untilMonotonicMs)',
  replace: 'else store(digest, owned, untilMonotonicMs)',
}

export const MARKED_FILL_JOINED: Mutant = {
  name: 'a look-up that an invalidation marked is joined',
  file: CACHE,
  find: '    fill.marked = true\n    fills.delete(digest)',
  replace: '    fill.marked = true',
}

export const ACKNOWLEDGED_BEFORE_OBEYED: Mutant = {
  name: 'acknowledged before it is obeyed',
  file: ANNOUNCED,
  find: 'if (mayHaveRevoked(result)) await invalidations.publish(invalidation)',
  replace: '',
}

export const LOGIN_UNSETTLED: Mutant = {
  name: 'a login that finds nothing to revoke waits for no other instance',
  file: ANNOUNCED,
  find: '(revoked) => revoked !== null,',
  replace: '(revoked) => revoked !== null && revoked > 0,',
}

export const REFUSED_LOGOUT_UNSETTLED: Mutant = {
  name: 'a logout that is refused waits for no other instance',
  file: 'src/application/use-cases/logout.ts',
  find: "if (digest !== null) await invalidations.publish({ kind: 'digest', digest })",
  replace: '',
}

export const UNKNOWN_OUTCOME_IGNORED: Mutant = {
  name: 'an unknown outcome is not obeyed',
  file: ANNOUNCED,
  find: 'invalidations.publish(invalidation).catch(() => {})',
  replace: '',
}

export const REVOKED_AGAIN: Mutant = {
  name: 'what is revoked is revoked again',
  file: LOGIN_TOKENS,
  find: 'where id = $1 and revoked_at is null and (expires_at',
  replace: 'where id = $1 and (expires_at',
}

export const NOTHING_OBEYED: Mutant = {
  name: 'nothing that is announced is obeyed',
  file: INSTANCE,
  find: 'for (const invalidation of message.invalidations) apply(invalidation)',
  replace: '',
}

export const CUSTOMER_AS_DIGEST: Mutant = {
  name: 'a customer is taken for a digest',
  file: 'src/adapters/postgres/revocation/notifications.ts',
  find: "changed(words.map((customerId) => ({ kind: 'customer', customerId })))",
  replace: "changed(words.map((digest) => ({ kind: 'digest', digest })))",
}

export const NO_FORGETTING: Mutant = {
  name: 'a new link forgets nothing',
  file: INSTANCE,
  find: "    lease.end()\n    apply({ kind: 'everything' })\n    others.unlinked()",
  replace: '    lease.end()\n    others.unlinked()',
}

export const TRIGGERS_NOT_LOOKED_AT: Mutant = {
  name: 'the state of the triggers is not looked at',
  file: INSTANCE,
  find: 'const isSame = triggers.fingerprint === fingerprint',
  replace: 'const isSame = fingerprint !== null',
}

export const ENDLESS_LEASE: Mutant = {
  name: 'a lease never ends',
  file: LEASE,
  find: 'if (clock.monotonicMs() - sentAt.monotonicMs >= LEASE_MS - MARGIN_MS) return false',
  replace: 'return true',
}

export const OTHERS_NOT_WAITED_FOR: Mutant = {
  name: 'a logout waits for no other instance',
  file: ACKNOWLEDGEMENTS,
  find: 'if (missing.size > 0) return',
  replace: '',
}
