import assert from 'node:assert/strict'
import fc from 'fast-check'
import { memoryCustomers } from '../../src/adapters/memory/customers.ts'
import { memoryInvalidations } from '../../src/adapters/memory/invalidations.ts'
import { memoryLoginTokens } from '../../src/adapters/memory/login-tokens.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { randomIds } from '../../src/adapters/node-crypto/ids.ts'
import { serviceSecrets } from '../../src/adapters/node-crypto/service-secrets.ts'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { cachedLoginTokens } from '../../src/application/login-tokens/cached.ts'
import type { CachedToken } from '../../src/application/login-tokens/cached-token.ts'
import {
  invalidatingCustomers,
  invalidatingLoginTokens,
} from '../../src/application/login-tokens/invalidating.ts'
import type { NewLogin } from '../../src/application/ports/login-tokens.ts'
import type { Ports } from '../../src/application/ports/ports.ts'
import { createManageCustomers } from '../../src/application/use-cases/manage-customers.ts'
import { createUseCases } from '../../src/application/use-cases/use-cases.ts'
import { InvalidCredentials, InvalidToken, LoginTokenRequired, Unavailable } from '../../src/domain/errors.ts'
import type { Digest } from '../../src/domain/login-token.ts'
import { aCustomer, aLoginToken } from '../../src/testing/builders.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { fakePasswords, hashOf, mapCache } from './fakes.ts'
import { aRequester, idlePorts } from './idle-ports.ts'

const CUSTOMERS = ['c1', 'c0']
const CACHE_TTL_MS = 300
const TOKEN_TTL_MS = 250

/** Creates a cache in front of a store: production's, or one that a test has broken. */
export type MakeCached = typeof cachedLoginTokens

/** Production's stack: the cache in front of tokens that publish their changes. */
export const cachedInvalidating: MakeCached = (inner, cache, invalidations, clock, options) =>
  cachedLoginTokens(invalidatingLoginTokens(inner, invalidations), cache, invalidations, clock, options)

type Command =
  | { readonly does: 'validate' | 'logout'; readonly pick: number }
  | { readonly does: 'login' | 'disable' | 'enable'; readonly customerId: string }
  | { readonly does: 'advance'; readonly ms: number }
  | { readonly does: 'clear' }

/** The course of a port call. Some calls are late, some fail before they take effect, some lose their response. */
type Course = 'on time' | 'arrives late' | 'responds late' | 'fails' | 'loses its response'

/** The number of turns that a late call is delayed: enough for a whole login. */
const LATE_TURNS = 12

/** Counts over all runs so far. A property proves nothing if the events never happened. */
export interface Tally {
  accepted: number
  refused: number
  unavailable: number
  /** Validations without their own query: served from the cache or by a pending lookup. */
  hits: number
  /** Validations that began after their token's end was acknowledged. */
  afterAcknowledgement: number
}

export function newTally(): Tally {
  return { accepted: 0, refused: 0, unavailable: 0, hits: 0, afterAcknowledgement: 0 }
}

/**
 * The property of one instance. Clients act concurrently, the scheduler decides how long each port call takes, and some
 * calls fail. A validation never accepts a token if it begins after the acknowledgement of a logout, a login that
 * replaced the token, or a disable; or after another validation refused the token; or after its expiry. A validation
 * never refuses a token if it finishes before any such change began.
 */
export function revocationProperty(
  cached: MakeCached,
  tally: Tally = newTally(),
): fc.IAsyncPropertyWithHooks<[fc.Scheduler, Command[][], Course[], number]> {
  const customerId = fc.constantFrom('c0', 'c0', 'c0', ...CUSTOMERS)
  const pick = fc.nat(30)
  const ms = fc.oneof(fc.constant(TOKEN_TTL_MS), fc.nat(CACHE_TTL_MS))
  const command: fc.Arbitrary<Command> = fc.oneof(
    { weight: 12, arbitrary: fc.record({ does: fc.constant('validate'), pick }) },
    { weight: 4, arbitrary: fc.record({ does: fc.constant('logout'), pick }) },
    { weight: 4, arbitrary: fc.record({ does: fc.constant('login'), customerId }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constantFrom('disable', 'enable'), customerId }) },
    { weight: 3, arbitrary: fc.record({ does: fc.constant('advance'), ms }) },
    { weight: 1, arbitrary: fc.constant({ does: 'clear' }) },
  )
  const course: fc.Arbitrary<Course> = fc.oneof(
    { weight: 12, arbitrary: fc.constant('on time') },
    { weight: 6, arbitrary: fc.constant('responds late') },
    { weight: 2, arbitrary: fc.constant('arrives late') },
    { weight: 1, arbitrary: fc.constantFrom('fails', 'loses its response') },
  )
  return fc.asyncProperty(
    fc.scheduler(),
    fc.array(fc.array(command, { minLength: 2, maxLength: 6, size: 'max' }), {
      minLength: 2,
      maxLength: 3,
      size: 'max',
    }),
    fc.array(course, { minLength: 12, maxLength: 12 }),
    fc.constantFrom(2, 8),
    (scheduler, clients, courses, maxEntries) => play(cached, scheduler, clients, courses, maxEntries, tally),
  )
}

/** A change that may end tokens, between two steps of the history. */
interface Ending {
  readonly concerns: (token: Known) => boolean
  readonly beganAt: number
  endedAt: number
}

/** A secret of a client, with the relevant steps. */
interface Known {
  readonly secret: string
  readonly digest: Digest
  readonly customerId: string
  readonly isNamed: boolean
  readonly expiresAtMs: number
  readonly loginBeganAt: number
  acknowledgedAt: number
  refusedAt: number
}

async function play(
  cached: MakeCached,
  scheduler: fc.Scheduler,
  clients: readonly (readonly Command[])[],
  courses: readonly Course[],
  maxEntries: number,
  tally: Tally,
): Promise<void> {
  let calls = 0
  let steps = 0
  let isAsked = false
  const step = () => ++steps
  const delay = (label: string) => scheduler.schedule(Promise.resolve(), label)
  const clock = movableClock()
  const store = memoryStore()
  const known: Known[] = []
  const endings: Ending[] = []
  /** The digests that a login revoked, by the id of its token. */
  const revokedBy = new Map<string, readonly Digest[]>()

  const inner = memoryLoginTokens(store)
  const memory = memoryInvalidations()
  const invalidations = {
    subscribe: memory.subscribe,
    isCurrent: memory.isCurrent,
    publish: slow('announce', memory.publish, { varies: false }),
  }
  const secrets = tokenSecrets({ prefix: 'lk' })
  const customers = memoryCustomers(store)
  const slowTokens = {
    ...inner,
    findByDigest: slow('read token', async (...of: Parameters<typeof inner.findByDigest>) =>
      inner.findByDigest(...of),
    ),
    replace: slow('replace', noting),
    revoke: slow('revoke', inner.revoke),
  }
  const passwords = fakePasswords()
  const slowPasswords = { ...passwords, verify: slow('verify', passwords.verify, { varies: false }) }
  const ports: Ports = {
    customers: { ...customers, findByEmail: slow('read customer', customers.findByEmail) },
    loginTokens: cached(slowTokens, mapCache<CachedToken>(clock, maxEntries), invalidations, clock, {
      ttlMs: CACHE_TTL_MS,
    }),
    invalidations,
    passwords: { ...passwords, queue: () => slowPasswords },
    ...idlePorts(),
    secrets,
    serviceSecrets: serviceSecrets([]),
    clock,
    ids: randomIds,
  }
  const core = createUseCases(ports, { tokenTtlMs: TOKEN_TTL_MS, loginLimitAccount: null })

  for (const id of CUSTOMERS) {
    await customers.add({ customer: aCustomer({ id, email: id }), passwordHash: hashOf('right') }, 1000)
    for (const name of ['bot', 'login']) {
      const { secret, digest } = secrets.issue()
      const expiresAtMs = name === 'bot' ? null : clock.nowMs() + TOKEN_TTL_MS
      const token = aLoginToken({ customerId: id, name, createdAtMs: clock.nowMs(), expiresAtMs })
      await inner.add(token, digest, 1000)
      know(secret, id, name === 'bot', expiresAtMs, 0)
    }
  }
  await scheduler.waitFor(
    Promise.all(
      clients.map(async (commands) => {
        for (const command of commands) {
          await delay(command.does)
          await perform(command)
        }
      }),
    ),
  )

  // A row that was stored too late would still be cached.
  await scheduler.waitFor(Promise.all(known.map(validate)))

  async function noting(login: NewLogin, timeoutMs: number): Promise<number | 'full' | null> {
    const before = revokedDigests()
    const result = await inner.replace(login, timeoutMs)
    revokedBy.set(
      login.token.id,
      revokedDigests().filter((digest) => !before.includes(digest)),
    )
    return result
  }

  async function perform(command: Command): Promise<void> {
    switch (command.does) {
      case 'validate':
        await validate(picked(command.pick))
        break
      case 'logout': {
        const token = picked(command.pick)
        await logOut(token)
        await validate(token)
        break
      }
      case 'login': {
        const earlier = known.findLast(isLoginOf(command.customerId))
        await logIn(command.customerId)
        if (earlier) await validate(earlier)
        break
      }
      case 'disable': {
        const token = known.findLast(isLoginOf(command.customerId))
        await disable(command.customerId)
        if (token) await validate(token)
        break
      }
      case 'enable':
        await customers.enable(command.customerId, 1000)
        break
      case 'advance':
        clock.advance(command.ms)
        break
      case 'clear':
        await invalidations.publish({ kind: 'everything' })
        break
    }
  }

  /** Mostly one of the newest tokens, which may still be valid. */
  function picked(pick: number): Known {
    const index = pick % 4 === 0 ? pick % known.length : known.length - (pick % 4 === 3 ? 2 : 1)
    return known[index] ?? assert.fail()
  }

  async function validate(token: Known) {
    const beganAt = step()
    const beganMs = clock.nowMs()
    const dead = token.acknowledgedAt < beganAt
    if (dead) tally.afterAcknowledgement += 1
    isAsked = false
    try {
      const validating = core.authenticate(token.secret, core.deadline(), aRequester())
      // A lookup is sent before anything else can run.
      if (!isAsked) tally.hits += 1
      const caller = await validating
      tally.accepted += 1
      assert.ok(!dead, 'accepted after the acknowledgement')
      assert.ok(token.refusedAt >= beganAt, 'accepted after it was refused')
      assert.ok(beganMs < token.expiresAtMs, 'accepted after its expiry')
      assert.equal(caller.customer.id, token.customerId)
      return caller
    } catch (error) {
      if (error instanceof Unavailable) {
        tally.unavailable += 1
        return null
      }
      if (!(error instanceof InvalidToken)) throw error
      tally.refused += 1
      const endedAt = step()
      const mayHaveEnded = endings.some(
        ({ concerns, beganAt: from, endedAt: until }) =>
          concerns(token) && from < endedAt && until > token.loginBeganAt,
      )
      assert.ok(mayHaveEnded || token.expiresAtMs <= clock.nowMs(), 'refused without a reason')
      token.refusedAt = Math.min(token.refusedAt, endedAt)
      return null
    }
  }

  async function logOut(token: Known): Promise<void> {
    const ending = began((other) => other === token)
    const caller = await validate(token)
    if (caller === null) return ended(ending)
    try {
      await core.logout(caller, core.deadline(), aRequester())
      token.acknowledgedAt = Math.min(token.acknowledgedAt, step())
    } catch (error) {
      if (error instanceof InvalidToken) token.acknowledgedAt = Math.min(token.acknowledgedAt, step())
      else if (!(error instanceof Unavailable || error instanceof LoginTokenRequired)) throw error
    }
    ended(ending)
  }

  async function logIn(customerId: string): Promise<void> {
    const ending = began(isLoginOf(customerId))
    const beganAt = step()
    try {
      const { secret, token } = await core.login(
        { email: customerId, password: 'right' },
        core.deadline(),
        aRequester(),
      )
      acknowledge(revokedBy.get(token.id))
      know(secret, customerId, false, token.expiresAtMs, beganAt)
    } catch (error) {
      if (!(error instanceof Unavailable || error instanceof InvalidCredentials)) throw error
    }
    ended(ending)
  }

  async function disable(customerId: string): Promise<void> {
    const ending = began((token) => token.customerId === customerId)
    let revoked: readonly Digest[] = []
    const watched = async (id: string, atMs: number, timeoutMs: number) => {
      const before = revokedDigests()
      const result = await customers.disable(id, atMs, timeoutMs)
      revoked = revokedDigests().filter((digest) => !before.includes(digest))
      return result
    }
    const administer = createManageCustomers({
      ...ports,
      customers: invalidatingCustomers({ ...customers, disable: slow('disable', watched) }, invalidations),
    })
    try {
      await administer.disable(customerId, core.deadline())
      acknowledge(revoked)
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
    ended(ending)
  }

  function isLoginOf(customerId: string): (token: Known) => boolean {
    return (token) => token.customerId === customerId && !token.isNamed
  }

  function began(concerns: Ending['concerns']): Ending {
    const ending = { concerns, beganAt: step(), endedAt: Infinity }
    endings.push(ending)
    return ending
  }

  function ended(ending: Ending): void {
    ending.endedAt = step()
  }

  function acknowledge(digests: readonly Digest[] = []): void {
    const at = step()
    for (const token of known) {
      if (digests.includes(token.digest)) token.acknowledgedAt = Math.min(token.acknowledgedAt, at)
    }
  }

  function know(
    secret: string,
    customerId: string,
    isNamed: boolean,
    expiresAtMs: number | null,
    loginBeganAt: number,
  ): void {
    known.push({
      secret,
      digest: secrets.digestOf(secret) ?? assert.fail(),
      customerId,
      isNamed,
      expiresAtMs: expiresAtMs ?? Infinity,
      loginBeganAt,
      acknowledgedAt: Infinity,
      refusedAt: Infinity,
    })
  }

  function revokedDigests(): readonly Digest[] {
    return [...store.tokens].flatMap(([digest, { revokedAtMs }]) => (revokedAtMs === null ? [] : [digest]))
  }

  async function travel(label: string, isLate: boolean): Promise<void> {
    for (let turn = 1; turn <= (isLate ? LATE_TURNS : 1); turn++) await delay(label)
  }

  /** Delays the call, applies it in one step, and delays its response. */
  function slow<Args extends unknown[], Result>(
    label: string,
    call: (...args: Args) => Promise<Result>,
    { varies = true } = {},
  ): (...args: Args) => Promise<Result> {
    return async (...args) => {
      isAsked = true
      const course = varies ? courses[calls] : 'on time'
      if (varies) calls += 1
      await travel(`${label}: sent`, course === 'arrives late')
      if (course === 'fails') throw new Unavailable()
      const result = await call(...args)
      await travel(`${label}: returned`, course === 'responds late')
      if (course === 'loses its response') throw new Unavailable()
      return result
    }
  }
}
