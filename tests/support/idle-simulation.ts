import { memoryLoginTokens } from '../../src/adapters/memory/login-tokens.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { createDeadline } from '../../src/application/deadline.ts'
import { cachedLoginTokens } from '../../src/application/login-tokens/cached.ts'
import { createIdleCheck } from '../../src/application/login-tokens/idle-expiry.ts'
import { UnknownTokenLimit } from '../../src/application/login-tokens/unknown-token-limit.ts'
import {
  createUsageBuffer,
  DECISIVE_USES,
  type UsageBuffer,
  type UsagePolicy,
} from '../../src/application/login-tokens/usage-buffer.ts'
import type { TokenUse } from '../../src/application/ports/login-tokens.ts'
import {
  type Authenticate,
  createAuthenticate,
  createAuthenticateDigest,
} from '../../src/application/use-cases/authenticate.ts'
import { InvalidToken } from '../../src/domain/errors.ts'
import { aCustomer, aDigest, aLoginToken } from '../../src/testing/builders.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { mapCache, turn } from './fakes.ts'
import { aRequester, idlePorts } from './idle-ports.ts'

const IDLE_TTL_MS = 300_000
const GRACE_MS = 60_000
const WRITTEN_WITHIN_MS = 60_000
const MIN_ADVANCE_MS = 45_000
const STEP_MS = 1000
/** The number of violations that are reported. */
const MAX_FOUND = 20

/** What a simulation does. */
export interface IdleSimulation {
  readonly tokens: number
  readonly steps: number
  readonly policy?: UsagePolicy
  /** The idle time that the instances apply. Another than that of the check is a broken form. */
  readonly appliedTtlMs?: number
}

/** What a simulation found. */
export interface IdleFindings {
  readonly violations: readonly string[]
  readonly accepted: number
  readonly rejected: number
  readonly writes: number
}

interface Instance {
  readonly authenticate: Authenticate
  readonly usage: UsageBuffer
  isKilled: boolean
}

/**
 * Runs three instances on one store by a movable clock. Each token is used for a while, by any instance, and then rests for
 * about the idle time. One instance is killed half-way and replaced: its buffer is lost. Checks the exact instant of each
 * rejection, that each use reaches the store in time, and that no token is written too often.
 */
export async function simulateIdleExpiry({
  tokens: count,
  steps,
  policy = DECISIVE_USES,
  appliedTtlMs = IDLE_TTL_MS,
}: IdleSimulation): Promise<IdleFindings> {
  const clock = movableClock(1_700_000_000_000)
  const violations: string[] = []
  const store = memoryStore()
  const customer = aCustomer({ createdAtMs: clock.nowMs() })
  store.customers.set(customer.id, { customer, passwordHash: null })
  const tokens = Array.from({ length: count }, () => {
    const token = aLoginToken({ customerId: customer.id, createdAtMs: clock.nowMs(), expiresAtMs: null })
    const digest = aDigest()
    store.tokens.set(digest, token)
    return { id: token.id, digest, nextMs: clock.nowMs() + Math.random() * GRACE_MS }
  })
  const byId = new Map(tokens.map(({ id, digest }) => [id, digest]))
  const stored = (digest: string) => store.tokens.get(digest)
  const inner = { ...memoryLoginTokens(store), touch }
  let [accepted, rejected, writes] = [0, 0, 0]

  /** As the store does it, but without a walk over all tokens. */
  async function touch(uses: readonly TokenUse[]): Promise<readonly string[]> {
    for (const { id, atMs, minAdvanceMs = 1 } of uses) {
      const digest = byId.get(id) as string
      const token = stored(digest)
      if (token === undefined || (token.lastUsedAtMs ?? 0) > atMs - minAdvanceMs) continue
      if (token.lastUsedAtMs !== null && atMs - token.lastUsedAtMs < MIN_ADVANCE_MS)
        report(`a write after ${atMs - token.lastUsedAtMs} ms`)
      writes++
      store.tokens.set(digest, { ...token, lastUsedAtMs: atMs })
    }
    return []
  }

  function report(violation: string): void {
    if (violations.length < MAX_FOUND) violations.push(violation)
  }

  function createInstance(): Instance {
    const usage = createUsageBuffer(inner, clock, { info() {}, warn() {}, error() {} }, policy)
    const isIdle = createIdleCheck(appliedTtlMs, usage)
    const invalidations = { subscribe() {}, isCurrent: () => true, publish: async () => {} }
    const cache = mapCache<never>(clock, count) as never
    const loginTokens = cachedLoginTokens(inner, cache, invalidations, clock, { ttlMs: 600_000, isIdle })
    const secrets = { issue: () => ({ secret: '', digest: '' }), digestOf: (text: string) => text }
    const ports = { ...idlePorts(), secrets, loginTokens, clock, usage }
    const unknownTokens = new UnknownTokenLimit(clock)
    const authenticate = createAuthenticate(
      ports,
      createAuthenticateDigest(ports, unknownTokens, appliedTtlMs),
    )
    return { authenticate, usage, isKilled: false }
  }

  const instances = [createInstance(), createInstance(), createInstance()]
  const used: { readonly digest: string; readonly atMs: number; readonly instance: Instance }[] = []
  let checkedUses = 0

  for (let step = 0; step < steps; step++) {
    clock.advance(STEP_MS)
    await turn()
    const nowMs = clock.nowMs()
    for (const token of tokens) {
      if (token.nextMs > nowMs) continue
      const instance = instances[Math.floor(Math.random() * instances.length)] as Instance
      await use(token, instance)
    }
    checkWritten(nowMs)
    if (step === Math.floor(steps / 2)) {
      ;(instances[0] as Instance).isKilled = true
      instances[0] = createInstance()
    }
  }
  return { violations, accepted, rejected, writes }

  async function use(token: (typeof tokens)[number], instance: Instance): Promise<void> {
    const nowMs = clock.nowMs()
    const { createdAtMs, lastUsedAtMs } = stored(token.digest) as NonNullable<ReturnType<typeof stored>>
    const lastMs = Math.max(createdAtMs, lastUsedAtMs ?? 0, instance.usage.lastUseMs?.(token.id) ?? 0)
    const isDue = nowMs >= lastMs + IDLE_TTL_MS + GRACE_MS
    const isAccepted = await accepts(token.digest, instance)
    if (isAccepted && isDue) report(`accepted ${nowMs - lastMs} ms after the last use`)
    if (!isAccepted && !isDue) report(`rejected ${nowMs - lastMs} ms after the last use`)
    if (isAccepted) used.push({ digest: token.digest, atMs: nowMs, instance })
    isAccepted ? accepted++ : rejected++
    // A series of uses, or a rest that ends about when the token expires. A rejected token is presented again once.
    const restMs = IDLE_TTL_MS - 90_000 + Math.random() * 240_000
    const pauseMs = Math.random() < 0.8 ? Math.random() * 90_000 : restMs
    token.nextMs = isAccepted ? nowMs + pauseMs : Number.POSITIVE_INFINITY
  }

  async function accepts(digest: string, { authenticate }: Instance): Promise<boolean> {
    try {
      await authenticate(digest, createDeadline(1000, clock), aRequester())
      return true
    } catch (error) {
      if (error instanceof InvalidToken) return false
      throw error
    }
  }

  function checkWritten(nowMs: number): void {
    for (; checkedUses < used.length; checkedUses++) {
      const { digest, atMs, instance } = used[checkedUses] as (typeof used)[number]
      if (nowMs < atMs + WRITTEN_WITHIN_MS) return
      const lastUsedAtMs = stored(digest)?.lastUsedAtMs ?? 0
      if (!instance.isKilled && lastUsedAtMs <= atMs - MIN_ADVANCE_MS)
        report(`a use was not written within ${nowMs - atMs} ms`)
    }
  }
}
