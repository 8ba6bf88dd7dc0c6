import type { Cancellation } from '../../lib/cancellation.ts'
import { wait } from '../../lib/wait.ts'
import type { Deadline } from '../deadline.ts'
import type { Ports } from '../ports/ports.ts'

/** A login reads the clock up to a second before its token is stored, and the clocks of instances differ a little. */
const IN_FLIGHT_MS = 2000

/** A revocation of many tokens stopped early. The tokens that it had revoked stay revoked. */
export class RevocationIncomplete extends Error {
  override readonly name = 'RevocationIncomplete'
  /** The number of tokens that it revoked. */
  readonly revoked: number
  constructor(revoked: number, options: ErrorOptions) {
    super('The revocation is incomplete.', options)
    this.revoked = revoked
  }
}

/**
 * Revokes all customers' tokens that were created before `beforeMs`, including those of logins in flight; returns their
 * number. Records the number in the audit log, also when it throws `RevocationIncomplete`, whose cause is the failure or
 * the signal's reason.
 */
export async function revokeAllIssuedBefore(
  { loginTokens, clock, audit }: Pick<Ports, 'loginTokens' | 'clock' | 'audit'>,
  {
    beforeMs,
    atMs,
    deadline,
    signal,
  }: {
    readonly beforeMs: number
    readonly atMs: number
    readonly deadline: () => Deadline
    readonly signal: Cancellation | null
  },
): Promise<number> {
  let count = 0
  try {
    await walk()
    const inFlightMs = beforeMs + IN_FLIGHT_MS - atMs
    if (inFlightMs > 0) {
      await wait(inFlightMs, clock, signal)
      await walk()
    }
    return count
  } catch (cause) {
    throw new RevocationIncomplete(count, { cause })
  } finally {
    if (count > 0) audit.record('token.revoked', { reason: 'issued_before', count })
  }

  function walk(): Promise<number> {
    return deadline().run((timeoutMs) =>
      loginTokens.revokeIssuedBefore(beforeMs, atMs, { timeoutMs, onStep, signal }),
    )
  }

  function onStep(revoked: number): void {
    count += revoked
  }
}
