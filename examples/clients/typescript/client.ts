/**
 * Logs in, calls me, and logs out, with LATCHKEY_URL, LATCHKEY_EMAIL and LATCHKEY_PASSWORD. LATCHKEY_TOKEN can be the token
 * of an earlier login. Exits 0 when done, 1 when refused, 2 when a setting is missing.
 */
import createClient from 'openapi-fetch'
import type { components, paths } from './api.js'

type Failure = components['schemas']['Failure']

const TRIES = 4
const LONGEST_WAIT_S = 60

/** The service refused the request. Switch on `reason`. */
class Refused extends Error {
  readonly reason: Failure['reason'] | 'unknown'
  constructor({ status }: Response, failure: Partial<Failure> = {}) {
    const { reason = 'unknown', request_id = 'unknown' } = failure
    super(`${status} ${reason}, request ${request_id}`)
    this.reason = reason
  }
}

/** Retries after `Retry-After`, a few times. */
async function retryingFetch(request: Request): Promise<Response> {
  for (let left = TRIES - 1; ; left--) {
    const response = await fetch(request.clone(), { signal: AbortSignal.timeout(15_000), redirect: 'error' })
    if ((response.status !== 429 && response.status !== 503) || left === 0) return response
    const retryAfter = response.headers.get('Retry-After') ?? ''
    const waitS = /^\d+$/.test(retryAfter) ? Number(retryAfter) : 1
    if (waitS > LONGEST_WAIT_S) return response
    await response.body?.cancel()
    await new Promise((resolve) => setTimeout(resolve, waitS * 1000))
  }
}

async function run(
  url: string,
  email: string,
  password: string,
  earlierToken: string | undefined,
): Promise<string> {
  const api = createClient<paths>({ baseUrl: url, fetch: retryingFetch })
  let token = earlierToken ?? (await logIn())
  const asCustomer = () => ({ headers: { Authorization: `Bearer ${token}` } })

  let me = await api.POST('/api/me', asCustomer())
  if (me.response.status === 401) {
    // Revoked or expired meanwhile: try once with a new token.
    token = await logIn()
    me = await api.POST('/api/me', asCustomer())
  }
  if (!me.data) throw new Refused(me.response, me.error)

  const { data, error, response } = await api.POST('/api/logout', asCustomer())
  // 401 means that the token is revoked: the response to an earlier try was lost.
  if (!data && response.status !== 401) throw new Refused(response, error)
  return me.data.customer.email

  async function logIn(): Promise<string> {
    const { data, error, response } = await api.POST('/api/login', { body: { email, password } })
    if (!data) throw new Refused(response, error)
    return data.token
  }
}

const { LATCHKEY_URL, LATCHKEY_EMAIL, LATCHKEY_PASSWORD, LATCHKEY_TOKEN } = process.env
if (!LATCHKEY_URL || !LATCHKEY_EMAIL || !LATCHKEY_PASSWORD) {
  process.stderr.write('latchkey: set LATCHKEY_URL, LATCHKEY_EMAIL and LATCHKEY_PASSWORD\n')
  process.exitCode = 2
} else {
  try {
    const email = await run(LATCHKEY_URL, LATCHKEY_EMAIL, LATCHKEY_PASSWORD, LATCHKEY_TOKEN || undefined)
    process.stdout.write(`logged in and out as ${email}\n`)
  } catch (error) {
    const line = error instanceof Refused ? error.message : 'the service cannot be reached'
    process.stderr.write(`latchkey: ${line}\n`)
    process.exitCode = 1
  }
}
