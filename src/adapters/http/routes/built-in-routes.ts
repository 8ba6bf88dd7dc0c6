import * as v from 'valibot'
import type { Requester } from '../../../application/requester.ts'
import { isoTime, me } from '../../../application/use-cases/me.ts'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import { emailProblem, trimmedEmail } from '../../../domain/customer.ts'
import { InvalidServiceToken } from '../../../domain/errors.ts'
import type { OwnedToken } from '../../../domain/login-token.ts'
import { presentedPasswordProblem } from '../../../domain/password.ts'
import { type Checks, NotReady } from '../errors.ts'
import { serviceToken } from '../request/bearer-token.ts'
import { cachedBodies } from '../response/json-body.ts'
import { type ObjectSchema, type Route, RouteRefused } from '../routing/declared-route.ts'
import { probe, type Readable, route } from '../routing/route.ts'

/** Text that a rule of the domain may refuse with a sentence of its own. */
function text(problem: (input: string) => string | null) {
  return v.pipe(
    v.string(),
    v.rawCheck(({ dataset, addIssue }) => {
      const message = dataset.typed ? problem(dataset.value) : null
      if (message !== null) addIssue({ message })
    }),
  )
}

const credentials = v.pipe(
  v.object({
    email: text((email) => emailProblem(trimmedEmail(email))),
    password: text(presentedPasswordProblem),
  }),
  v.examples([{ email: 'ana@example.com', password: 'correct horse battery staple' }]),
)

const time = v.pipe(v.string(), v.isoTimestamp())
const email = v.pipe(v.string(), v.examples(['ana@example.com']))
const secret = v.pipe(v.string(), v.examples(['lk_0123456789ABCDEFGHIJabcdefghijKLMNOPQRST2m5ATr']))

/** What `me` answers where nobody shapes it; its `entries` can be taken over into one's own. */
export const profile = v.object({
  customer: v.object({
    id: v.pipe(v.string(), v.uuid()),
    email,
    name: v.nullable(v.pipe(v.string(), v.examples(['Ana']))),
    created_at: time,
  }),
  token: v.object({
    name: v.pipe(v.string(), v.examples(['login'])),
    abilities: v.array(v.pipe(v.string(), v.examples(['*']))),
    created_at: time,
    expires_at: v.nullable(time),
  }),
})

/** How a service shapes what `me` answers. */
export interface MeResponse<R extends ObjectSchema = ObjectSchema> {
  /** What it holds beside `success`; a field that is not in it never leaves. */
  readonly returns: R
  /** A pure function of customer and token: its answer is kept for as long as both are. */
  present(caller: OwnedToken): Readable<v.InferInput<R>>
}

const ofTheContract: MeResponse<typeof profile> = { returns: profile, present: me }

/** The routes that every service has: login, me, logout and status. */
export function builtInRoutes(
  useCases: UseCases,
  {
    version,
    cachesMe,
    me: { returns, present } = ofTheContract as MeResponse,
  }: {
    readonly version: string
    /** Whether validations are kept, so that an answer made from one is asked for again. */
    readonly cachesMe: boolean
    readonly me?: MeResponse | undefined
  },
): readonly Route[] {
  if (typeof present !== 'function') throw new RouteRefused('What me answers: present must be a function.')
  return [
    route('POST /login', {
      auth: 'none',
      body: credentials,
      returns: v.object({ token: secret, expires_at: v.nullable(time) }),
      summary: 'Log in; the earlier login token of the customer is revoked',
      tags: ['Login'],
      throws: ['invalid_credentials', 'too_many_requests'],
      async handle({ body, deadline, requester }) {
        const { secret, token } = await useCases.login(body, deadline, requester)
        return { token: secret, expires_at: token.expiresAtMs === null ? null : isoTime(token.expiresAtMs) }
      },
    }),
    route('POST /me', {
      auth: 'customer',
      returns,
      summary: 'Who am I',
      tags: ['Login'],
      handle: cachesMe ? cachedBodies(returns, present) : present,
    }),
    {
      ...route('POST /logout', {
        auth: 'customer',
        summary: 'Log out; the login token is revoked',
        tags: ['Login'],
        throws: ['login_token_required'],
        handle: (caller) => useCases.logout(caller, caller.deadline, caller.requester),
      }),
      settlesRefusals: true,
    },
    route('GET /status', {
      auth: 'service',
      returns: v.object({ online: v.boolean(), version: v.pipe(v.string(), v.examples(['1.4.0'])) }),
      summary: 'Whether the service is up, and its version',
      tags: ['Service'],
      handle: () => ({ online: true, version }),
    }),
  ]
}

/** Whether requests would be served, and what speaks for it or against it, in words of our own. */
export interface ReadinessReport {
  readonly ready: boolean
  readonly checks: Checks
}

/**
 * The probes of orchestrators: `livez` does no I/O, `readyz` asks whether requests would be served. What was looked at is
 * for those with a service token; for others, a wrong one included, there is the bare state.
 */
export function probeRoutes(
  { verifyServiceToken }: UseCases,
  report: () => Promise<ReadinessReport>,
): readonly Route[] {
  return [
    probe('GET /livez', {
      summary: 'Whether the process answers',
      tags: ['Service'],
      handle: () => undefined,
    }),
    probe('GET /readyz', {
      summary: 'Whether requests would be served',
      tags: ['Service'],
      async handle({ headers: { authorization }, requester }) {
        const isTrusted = typeof authorization === 'string' && isService(authorization, requester)
        const { ready, checks } = await report()
        const told = isTrusted ? checks : null
        if (!ready) throw new NotReady(told)
        return told === null ? undefined : { checks: told }
      },
    }),
  ]

  function isService(authorization: string, requester: Requester): boolean {
    try {
      verifyServiceToken(serviceToken(authorization), requester)
      return true
    } catch (error) {
      if (error instanceof InvalidServiceToken) return false
      throw error
    }
  }
}
