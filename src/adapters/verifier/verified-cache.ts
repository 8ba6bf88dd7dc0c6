import { CustomerIndex } from '../../application/login-tokens/customer-index.ts'
import type { Verified } from '../../application/verifiers/verifier.ts'
import type { Clock } from '../../lib/clock.ts'

const ALL: readonly string[] = Object.freeze(['*'])

/** A cached validation. It is flat, because there are many. All callers share it, so they can change nothing of it. */
export class Entry implements Verified {
  readonly customerId: string
  readonly email: string
  readonly tokenName: string
  readonly abilities: readonly string[]
  readonly expiresAtMs: number | null
  readonly tokenId: string
  /** When it must no longer be used, by the monotonic clock. */
  readonly untilMs: number
  #report = 0

  /** Reads a `found` message. Its lifetimes are milliseconds left, counted from the sending of the lookup. */
  constructor(json: string, { sentMs, sentWallMs }: Fill) {
    const { customer, email, token, name, abilities, expires, keep } = JSON.parse(json)
    this.customerId = customer
    this.email = email
    this.tokenName = name
    // Most tokens have the same one.
    this.abilities = abilities.length === 1 && abilities[0] === '*' ? ALL : Object.freeze(abilities)
    this.expiresAtMs = expires === null ? null : sentWallMs + expires
    this.tokenId = token
    this.untilMs = Math.floor(sentMs + Math.min(keep, expires ?? keep))
    Object.freeze(this)
  }

  /** Whether this use is the first for the report of this number, from 1. */
  isFirstUse(report: number): boolean {
    if (this.#report === report) return false
    this.#report = report
    return true
  }
}

/** The result of a lookup: null for a token that is not valid, undefined when the connection was lost. */
export type LookupResult = Entry | null | undefined

/** A lookup in flight. */
export interface Fill {
  readonly n: number
  readonly untilMs: null
  readonly digest: string
  readonly sentMs: number
  readonly sentWallMs: number
  readonly result: Promise<LookupResult>
  readonly resolve: (found: LookupResult | Promise<never>) => void
}

/**
 * The cached validations of one connection, and its lookups in flight. A fill takes the place of its digest before it is sent
 * (fence). An invalidation clears the place: the result is then not stored, and no later call joins the fill.
 */
export class VerifiedCache {
  readonly #max: number
  readonly #clock: Clock
  readonly #places = new Map<string, Entry | Fill>()
  readonly #index = new CustomerIndex()
  readonly #sent = new Map<number, Fill>()
  #last = 0

  /** A full cache drops the oldest. */
  constructor(maxEntries: number, clock: Clock) {
    this.#max = maxEntries
    this.#clock = clock
  }

  get(digest: string): Entry | Fill | undefined {
    return this.#places.get(digest)
  }

  /** Registers a lookup, which is sent afterwards. */
  begin(digest: string): Fill {
    this.#last += 1
    let resolve: Fill['resolve'] = () => {}
    const result = new Promise<LookupResult>((onFound) => {
      resolve = onFound
    })
    const sent = { sentMs: this.#clock.monotonicMs(), sentWallMs: this.#clock.nowMs() }
    const fill: Fill = { n: this.#last, untilMs: null, digest, ...sent, result, resolve }
    this.#sent.set(fill.n, fill)
    this.delete(digest)
    if (this.#places.size >= this.#max) this.delete(this.#places.keys().next().value as string)
    this.#places.set(digest, fill)
    return fill
  }

  /** Ends a lookup with a valid token. It is stored unless the fill has lost its place. */
  store(n: number, json: string): void {
    const fill = this.#sent.get(n)
    if (fill === undefined) return
    const entry = new Entry(json, fill)
    this.#sent.delete(n)
    if (this.#places.get(fill.digest) === fill) {
      this.#places.set(fill.digest, entry)
      this.#index.add(entry.customerId, fill.digest)
    }
    fill.resolve(entry)
  }

  /** Ends a lookup that found nothing. After one request is refused, an older entry must not accept a later one. */
  refuse(n: number, error: Error | null): void {
    const fill = this.#sent.get(n)
    if (fill === undefined) return
    this.#sent.delete(n)
    this.delete(fill.digest)
    fill.resolve(error === null ? null : Promise.reject(error))
  }

  delete(digest: string): void {
    const place = this.#places.get(digest)
    this.#places.delete(digest)
    if (typeof place?.untilMs === 'number') this.#index.delete(place.customerId, digest)
  }

  deleteCustomer(customerId: string): void {
    // The customer of a fill is unknown until it has arrived.
    for (const { digest } of this.#sent.values()) this.delete(digest)
    for (const digest of this.#index.list(customerId)) this.delete(digest)
  }

  clear(): void {
    this.#places.clear()
    this.#index.clear()
  }

  /** The connection is lost. */
  lose(): void {
    this.clear()
    for (const fill of this.#sent.values()) fill.resolve(undefined)
    this.#sent.clear()
  }
}
