import { InvalidServiceToken } from '../domain/errors.ts'
import type { Ports } from './ports.ts'

/** Answers the name of the service token that was presented, or throws `InvalidServiceToken`. */
export type VerifyServiceToken = (presented: string | null) => string

/** A service route's whole check: it never passes through `authenticate`, nor the reverse. */
export function makeVerifyServiceToken({ serviceSecrets }: Ports): VerifyServiceToken {
  return function verifyServiceToken(presented) {
    const name = presented === null ? null : serviceSecrets.nameOf(presented)
    if (name === null) throw new InvalidServiceToken()
    return name
  }
}
