import type { Digest, LoginToken } from '../../../src/domain/login-token.ts'
import { aLoginToken } from '../../../src/testing/builders.ts'
import type { Run } from './run.ts'

/** A token, with the steps and moments that matter. */
export interface Known {
  readonly digest: Digest
  readonly token: LoginToken
  endedMs: number
  acknowledgedAt: number
  /** By the name of the instance. */
  readonly refusedAt: Map<string, number>
}

/** The tokens of a run, and what became of them. */
export interface History {
  /** All that were stored, in this order. */
  readonly known: readonly Known[]
  /** The number of the next step. */
  step(): number
  /** A token that is not stored yet. */
  newToken(customerId: string, name: string, createdAtMs: number): Pick<Known, 'token' | 'digest'>
  know(token: LoginToken, digest: Digest): void
}

export function historyOf({ setting, chance }: Run): History {
  const known: Known[] = []
  let steps = 0
  let issued = 0
  return {
    known,
    step: () => ++steps,

    newToken(customerId, name, createdAtMs) {
      issued += 1
      // Where the wall clock is set nobody can say when a token expires.
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

/** Whether it is a token of the customer's logins, as a login replaces them. */
export function isLoginOf(customerId: string): (token: Known) => boolean {
  return ({ token }) => token.customerId === customerId && token.name === 'login'
}
