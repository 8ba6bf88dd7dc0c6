import { hash } from 'node:crypto'
import type { TokenSecrets } from '../../application/ports/secrets.ts'
import { type Verified, type Verifier, VerifierUnavailable } from '../../application/verifiers/verifier.ts'
import type { Clock } from '../../lib/clock.ts'
import { keepConnected, type VerifierEvent } from './connection.ts'
import type { LookupResult } from './verified-cache.ts'
import { VerifierCore } from './verifier-core.ts'

/** The options of a verifier in a process without the database. */
export interface RemoteVerifierOptions {
  /** The address of an instance, or of several. Any of them will do, also a load balancer that passes upgrades on. */
  readonly url: string | readonly string[]
  /** A service token with the scope `verify`. */
  readonly serviceToken: string
  /** Cached validations, about 400 bytes each. Default: 100,000. */
  readonly maxEntries?: number
  /** Called when the connection is open or lost. Default: no call. */
  readonly onEvent?: (event: VerifierEvent) => void
}

const MAX_LENGTH = 63
const INTROSPECT_MS = 3000

/**
 * Starts a verifier; it caches as soon as its connection is open, and asks for each token until then. Throws `TypeError` for
 * an address or a service token that no request can have.
 */
export function createRemoteVerifier(
  { url, serviceToken, maxEntries = 100_000, onEvent = () => {} }: RemoteVerifierOptions,
  { clock, digestOf }: { readonly clock: Clock; readonly digestOf: TokenSecrets['digestOf'] },
): Verifier {
  const urls = [url].flat().map((one) => one.replace(/\/+$/, ''))
  if (urls.length === 0 || !urls.every((one) => /^https?:\/\//.test(one) && URL.canParse(one)))
    throw new TypeError('url must be an address that begins with http:// or https://.')
  if (!/^[!-~]+$/.test(serviceToken))
    throw new TypeError(
      'serviceToken must consist of visible ASCII characters, without spaces or line breaks.',
    )
  const core = new VerifierCore(clock, maxEntries)
  const closing = new AbortController()
  const ended = keepConnected(core, urls, serviceToken, { onEvent, signal: closing.signal })

  return {
    verify(token, { address } = {}) {
      if (typeof token !== 'string' || token.length > MAX_LENGTH) return null
      // Half as long as in hexadecimal, because there are many.
      const digest = hash('sha256', token, 'binary')
      const cached = core.hit(digest)
      if (cached !== null) return cached
      // A mistyped or invented token costs no lookup.
      const hexDigest = digestOf(token)
      return hexDigest === null ? null : lookUp(token, core.find(digest, hexDigest, address ?? null))
    },
    isCaching: () => core.lease.holds(),
    async close() {
      closing.abort()
      await ended
    },
  }

  /** Introspects the token when its lookup has lost the connection. */
  async function lookUp(token: string, finding: Promise<LookupResult>): Promise<Verified | null> {
    let found: Verified | null | undefined = await finding
    for (const each of urls)
      if (found === undefined) found = await introspect(each, serviceToken, token).catch(() => undefined)
    if (found === undefined) throw new VerifierUnavailable('No instance of Latchkey can respond right now.')
    return found
  }
}

/** One question without a connection: nothing of it is stored. */
async function introspect(url: string, secret: string, token: string): Promise<Verified | null> {
  const response = await fetch(`${url}/introspect`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${secret}` },
    body: new URLSearchParams({ token }),
    signal: AbortSignal.timeout(INTROSPECT_MS),
  })
  if (response.status !== 200) throw new Error(`Latchkey responded with status ${response.status}.`)
  const { active, sub, username, token_name, scope, exp } = JSON.parse(await response.text())
  if (!active) return null
  return {
    customerId: sub,
    email: username,
    tokenName: token_name,
    abilities: scope?.split(' ') ?? [],
    expiresAtMs: exp === undefined ? null : exp * 1000,
  }
}
