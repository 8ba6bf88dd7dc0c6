import type { Digest, LoginToken } from '../../../src/domain/login-token.ts'
import { aLoginToken } from '../../../src/testing/builders.ts'
import type { Run } from './run.ts'

/** A token with its relevant steps and times. */
export interface Known {
  readonly digest: Digest
  readonly token: LoginToken
  endedMs: number
  acknowledgedAt: number
  /** The time of each refusal, by the name of the instance. */
  readonly refusedAt: Map<string, number>
}

/** The tokens of a run and what happened to them. */
export interface History {
  /** All stored tokens, in this order. */
  readonly known: readonly Known[]
  /** The number of the next step. */
  step(): number
  /** Creates a token that is not stored yet. */
  newToken(customerId: string, name: string, createdAtMs: number): Pick<Known, 'token' | 'digest'>
  know(token: LoginToken, digest: Digest): void
}

export function createHistory({ setting, chance }: Run): History {
  const known: Known[] = []
  let steps = 0
  let issued = 0
  return {
    known,
    step: () => ++steps,

    newToken(customerId, name, createdAtMs) {
      issued += 1
      // The expiry is unknown in a run that sets the wall clock.
      const lasts = !chance.isCalm && setting.clocks !== 'set' && chance.random() < 0.4
      const expiresAtMs = lasts ? createdAtMs + 200 + chance.random() * 3000 : null
      const token = aLoginToken({ id: `t${issued}`, customerId, name, createdAtMs, expiresAtMs })
      return { token, digest: `d${issued}` }
    },

    know(token, digest) {
      known.push({ digest, token, endedMs: Infinity, acknowledgedAt: Infinity, refusedAt: new Map() })
    },
  }
}

/** Returns a predicate for login tokens of the customer, as a login replaces them. */
export function isLoginOf(customerId: string): (token: Known) => boolean {
  return ({ token }) => token.customerId === customerId && token.name === 'login'
}
