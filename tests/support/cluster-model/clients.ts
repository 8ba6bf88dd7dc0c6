import { LEASE_MS } from '../../../src/adapters/postgres/revocation/lease.ts'
import { InvalidToken } from '../../../src/domain/errors.ts'
import { hashOf } from '../fakes.ts'
import type { Database } from './database.ts'
import { type History, isLoginOf, type Known } from './history.ts'
import type { Process, Processes } from './processes.ts'
import { validate } from './promises.ts'
import type { Run } from './run.ts'
import { DEADLINE, REQUESTER } from './service.ts'
import type { Verifiers } from './verifiers.ts'

/** The actions of clients. They try an acknowledged revocation at once, and again later. */
export interface Clients {
  validateEverywhere(tokens: readonly Known[]): void
  /** Validates the tokens that just ended, a second later, when the promise for any change applies. */
  validateASecondLater(): void
  logOut(process: Process, token: Known): Promise<void>
  logIn(process: Process, customerId: string): Promise<void>
  disable(process: Process, customerId: string): Promise<void>
}

export function createClients(
  run: Run,
  history: History,
  database: Database,
  { alive }: Processes,
  verifiers: Verifiers,
): Clients {
  const { time } = run
  return { validateEverywhere, validateASecondLater, logOut, logIn, disable }

  function validateEverywhere(tokens: readonly Known[]): void {
    verifiers.validateEverywhere(tokens)
    for (const process of alive()) {
      for (const token of tokens) {
        time.after(0, () => time.watch(validate(run, history, process, token)), process.machine)
      }
    }
  }

  function validateASecondLater(): void {
    const ended = history.known.filter(({ endedMs }) => endedMs === time.nowMs)
    // The newest tokens are the ones that were in use.
    time.after(LEASE_MS, () => validateEverywhere(ended.slice(-2)))
  }

  async function logOut({ service, machine }: Process, known: Known): Promise<void> {
    const { token, digest } = known
    const beganMs = time.nowMs
    let isRefused = false
    try {
      await service.authenticateForLogout(digest, DEADLINE, REQUESTER)
      await service.tokens.revoke({ id: token.id, digest }, machine.clock.nowMs(), 1000)
    } catch (error) {
      if (!(error instanceof InvalidToken)) throw error
      isRefused = true
    }
    // A refusal acknowledges too. If the token has expired by this machine's clock, that may be the reason: the refusal
    // then says nothing about a revocation that was committed meanwhile.
    const hasExpired = (token.expiresAtMs ?? Infinity) <= machine.clock.nowMs()
    acknowledge([known], isRefused && hasExpired ? beganMs : time.nowMs)
  }

  async function logIn({ service, machine }: Process, customerId: string): Promise<void> {
    await database.reopen(customerId)
    const earlier = history.known.filter(isLoginOf(customerId))
    const login = history.newToken(customerId, 'login', machine.clock.nowMs())
    const revoked = await service.tokens.replace({ ...login, verifiedHash: hashOf('right') }, 1000)
    if (revoked !== null) acknowledge(earlier)
  }

  async function disable({ service }: Process, customerId: string): Promise<void> {
    const concerned = history.known.filter(({ token }) => token.customerId === customerId)
    if ((await service.disable(customerId)) !== null) acknowledge(concerned)
  }

  /** Acknowledges the tokens that had ended at `endedByMs`. */
  function acknowledge(tokens: readonly Known[], endedByMs = time.nowMs): void {
    const at = history.step()
    const ended = tokens.filter(({ endedMs }) => endedMs <= endedByMs)
    for (const token of ended) token.acknowledgedAt = Math.min(token.acknowledgedAt, at)
    validateEverywhere(ended)
    time.after(300, () => validateEverywhere(ended))
  }
}
