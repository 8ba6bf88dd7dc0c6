import { type Verified, VerifierUnavailable } from '../../application/verifiers/verifier.ts'
import type { Clock } from '../../lib/clock.ts'
import { createVerifierLease, type VerifierLease } from './lease.ts'
import { type LookupResult, VerifiedCache } from './verified-cache.ts'

/** A lookup without a response in this time fails. */
const LOOKUP_MS = 3000
/** Uses are reported with every twentieth heartbeat. */
const REPORT_BEATS = 20
const MAX_REPORTED = 100

/** The verifier's part of the protocol, over any connection; `docs/reference/verifier-protocol.md` describes the messages. */
export class VerifierCore {
  readonly lease: VerifierLease
  readonly #clock: Clock
  readonly #cache: VerifiedCache
  /** The ids of the tokens that were used from the cache since the last report, and the number of the next one. */
  #used: string[] = []
  #report = 1
  #send: ((line: string) => void) | null = null

  constructor(clock: Clock, maxEntries: number) {
    this.#clock = clock
    this.lease = createVerifierLease(clock)
    this.#cache = new VerifiedCache(maxEntries, clock)
  }

  /** A new connection is open. Nothing of an earlier one is received after this. */
  connected(send: (line: string) => void): void {
    this.lost()
    this.#send = send
    this.beat()
  }

  /** The connection is lost, replaced or given up. */
  lost(): void {
    this.#send = null
    this.lease.end()
    this.#cache.lose()
    this.#takeUses()
  }

  /** Stops: uses nothing from the cache any more, and says so. */
  leave(): void {
    this.#reportUses()
    const send = this.#send
    this.lost()
    send?.('bye')
  }

  /** Sends a heartbeat. */
  beat(): void {
    const k = this.lease.beat()
    this.#send?.(`beat ${k}`)
    if (k % REPORT_BEATS === 0) this.#reportUses()
  }

  /** Returns the cached validation, or null. */
  hit(digest: string): Verified | null {
    const entry = this.#cache.get(digest)
    if (entry === undefined || entry.untilMs === null) return null
    const monotonicMs = this.#clock.monotonicMs()
    const wallMs = this.#clock.nowMs()
    if (!this.lease.holds(monotonicMs, wallMs) || monotonicMs >= entry.untilMs) return null
    if (entry.expiresAtMs !== null && wallMs >= entry.expiresAtMs) return null
    if (entry.isFirstUse(this.#report)) this.#used.push(entry.tokenId)
    return entry
  }

  /** Looks a token up. `address` is the client's, which is charged for an unknown token. Rejects with `VerifierUnavailable`. */
  find(digest: string, hexDigest: string, address: string | null): Promise<LookupResult> {
    if (this.#send === null) return Promise.resolve(undefined)
    const earlier = this.#cache.get(digest)
    if (earlier?.untilMs === null && this.lease.holds()) return earlier.result
    const { n, result } = this.#cache.begin(digest)
    const cancel = this.#clock.after(LOOKUP_MS, () =>
      this.#cache.refuse(n, new VerifierUnavailable('Latchkey did not respond in time.')),
    )
    result.then(cancel, cancel)
    this.#send(`find ${n} ${hexDigest}${address === null ? '' : ` ${address}`}`)
    return result
  }

  /** Handles one line. Throws an error that says why the connection must be replaced. */
  received(line: string): void {
    const [kind, first = '', ...rest] = line.split(' ')
    const n = Number(first)
    if (kind === 'lease') this.lease.respond(n, Number(rest[0]))
    else if (kind === 'wait') this.lease.respond(n, null)
    else if (kind === 'digest') this.#cache.delete(Buffer.from(first, 'hex').toString('latin1'))
    else if (kind === 'customer') this.#cache.deleteCustomer(first)
    else if (kind === 'forget') this.#cache.clear()
    else if (kind === 'ask') this.#send?.(`seen ${first}`)
    else if (kind === 'found') this.#cache.store(n, rest.join(' '))
    else if (kind === 'none') this.#cache.refuse(n, null)
    else if (kind === 'limited')
      this.#cache.refuse(n, new VerifierUnavailable('Too many unknown tokens.', Number(rest[0])))
    else if (kind === 'failed')
      this.#cache.refuse(n, new VerifierUnavailable('Latchkey cannot respond right now.'))
    else if (kind === 'leave') {
      this.leave()
      throw new Error('Latchkey is stopping.')
    } else throw new Error('A message was not understood.')
  }

  #reportUses(): void {
    const ids = this.#takeUses()
    for (let i = 0; i < ids.length; i += MAX_REPORTED)
      this.#send?.(`used ${ids.slice(i, i + MAX_REPORTED).join(' ')}`)
  }

  #takeUses(): readonly string[] {
    const ids = this.#used
    this.#used = []
    this.#report += 1
    return ids
  }
}
