import type { Io } from '../io.ts'
import { printable } from '../printable.ts'
import { Refusal } from '../refusal.ts'
import { post, type SmokeResponse } from './post.ts'
import { createStepReport } from './step-report.ts'

/** The deployment to test: a load balancer, or each instance. */
export interface SmokeOptions {
  readonly urls: readonly URL[]
  readonly email: string
  readonly password: string
  /** The number of new connections to each address, before the logout and after it. */
  readonly connections: number
  readonly json?: boolean
}

const WAVES = 5
/** The waves together outlast a lease, so that an instance that applies the revocation late is detected. */
const PAUSE_MS = 300
/** How long an instance that still accepts the token is polled. */
const TIMEOUT_MS = 10_000

/**
 * Runs login, me and logout on running instances and prints one line a step. Then it opens many new connections, each
 * of which must be refused. Throws `Refusal` at the first failure.
 */
export async function smoke(
  { urls, email, password, connections, json = false }: SmokeOptions,
  io: Io,
): Promise<void> {
  const { step, end } = createStepReport(io, json)
  const [first] = urls
  if (first === undefined) return
  for (const url of urls) {
    await step('reached', async () => {
      expectResponse(await post(url, '/api/me'), 401, 'missing_token')
      return url.href
    })
  }
  let token = ''
  await step('login', async () => {
    const { body } = expectResponse(await post(first, '/api/login', { body: { email, password } }), 200)
    token = String(body.token)
    return 'this revokes an earlier login token of the customer'
  })
  try {
    await step('me', async () => {
      let sent = 0
      // Enough requests that every instance behind a load balancer caches the token.
      for (let waves = 0; waves < WAVES; waves++) {
        const responses = await askWave()
        for (const response of responses) expectResponse(response, 200)
        sent += responses.length
      }
      return `200 on ${sent} new connections`
    })
  } catch (error) {
    await post(first, '/api/logout', { token }).catch(() => {})
    throw error
  }
  await step('logout', async () => {
    expectResponse(await post(first, '/api/logout', { token }), 200)
    return ''
  })
  await step('revoked', refusedEverywhere)
  await end()

  /** Every connection begins after the response to the logout. */
  async function refusedEverywhere(): Promise<string> {
    const beganMs = performance.now()
    let sent = 0
    let accepted = 0
    let acceptedMs = 0
    for (let waves = 0; waves < WAVES || performance.now() - beganMs < TIMEOUT_MS; waves++) {
      if (waves > 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      const responses = await askWave()
      const late = responses.filter(({ status }) => status === 200)
      for (const response of responses)
        if (response.status !== 200) expectResponse(response, 401, 'invalid_token')
      sent += responses.length
      accepted += late.length
      acceptedMs = Math.max(acceptedMs, ...late.map(({ sentMs }) => sentMs - beganMs))
      if (waves >= WAVES - 1 && late.length === 0) break
    }
    if (accepted === 0) return `401 on ${sent} of ${sent} new connections, from the logout on`
    throw new Refusal(
      `${accepted} of ${sent} new connections were accepted after the logout, the last ${Math.round(acceptedMs)} ms after it.`,
    )
  }

  async function askWave(): Promise<readonly SmokeResponse[]> {
    const count = Math.ceil(connections / WAVES)
    const sent = urls.flatMap((url) => Array.from({ length: count }, () => post(url, '/api/me', { token })))
    return Promise.all(sent)
  }
}

function expectResponse(
  response: SmokeResponse,
  status: number,
  reason: string | null = null,
): SmokeResponse {
  if (response.status === status && response.reason === reason) return response
  const outcome =
    response.reason === null ? 'success' : `${response.reason}: ${printable(String(response.body.error))}`
  throw new Refusal(
    `${response.status} ${outcome} (expected ${status}${reason === null ? '' : ` ${reason}`})`,
  )
}
