import * as v from 'valibot'
import { me } from '../../../application/use-cases/me.ts'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import { emailProblem, trimmedEmail } from '../../../domain/customer.ts'
import type { OwnedToken } from '../../../domain/login-token.ts'
import { presentedPasswordProblem } from '../../../domain/password.ts'
import { deviceProblem } from '../../../domain/session.ts'
import { isoTimeOrNull } from '../response/iso-time.ts'
import { cachedBodies } from '../response/json-body.ts'
import { type ObjectSchema, RouteRefused } from '../routing/declared-route.ts'
import type { DeepReadonly } from '../routing/handler-types.ts'
import { route } from '../routing/route.ts'
import type { InferApi } from '../routing/route-types.ts'
import { presentProfile, profile } from './profile.ts'
import type { sessionRoutes } from './session-routes.ts'
import { text } from './text-schema.ts'

const credentials = v.pipe(
  v.object({
    email: text((email) => emailProblem(trimmedEmail(email))),
    password: text(presentedPasswordProblem),
    device: v.optional(text(deviceProblem)),
  }),
  v.examples([{ email: 'ana@example.com', password: 'correct horse battery staple' }]),
)

const time = v.pipe(v.string(), v.isoTimestamp())
const secret = v.pipe(v.string(), v.examples(['lk_0123456789ABCDEFGHIJabcdefghijKLMNOPQRST2m5ATr']))

/** A custom response of `me`. */
export interface MeResponse<R extends ObjectSchema = ObjectSchema> {
  /** The fields of the response, beside `success`. Other fields are never sent. */
  readonly returns: R
  /** A pure function of customer and token. Its result is cached for as long as both are. */
  present(caller: OwnedToken): DeepReadonly<v.InferInput<R>>
}

const DEFAULT_ME: MeResponse<typeof profile> = {
  returns: profile,
  present: (caller) => presentProfile(me(caller)),
}

/** The routes of every service, for `createApiClient`. `Me` is the schema of a custom response of `me`. */
export type BuiltInApi<Me extends ObjectSchema = typeof profile> = InferApi<typeof builtInRoutes<Me>> &
  InferApi<typeof sessionRoutes>

/** Returns the routes of every service that no custom route may replace: login, me, logout and status. */
export function builtInRoutes<Me extends ObjectSchema>(
  useCases: UseCases,
  {
    version,
    cachesMe,
    me: { returns, present } = DEFAULT_ME as MeResponse as MeResponse<Me>,
  }: {
    readonly version: string
    /** Whether validations are cached, so that a response created from one can be reused. */
    readonly cachesMe: boolean
    readonly me?: MeResponse<Me> | undefined
  },
) {
  if (typeof present !== 'function') throw new RouteRefused('The response of me: present must be a function.')
  return [
    route('POST /login', {
      auth: 'none',
      body: credentials,
      returns: v.object({ token: secret, expires_at: v.nullable(time) }),
      summary: 'Log in; earlier login tokens beyond the limit of sessions are revoked',
      tags: ['Login'],
      throws: ['invalid_credentials', 'too_many_sessions', 'too_many_requests'],
      async handle({ body, deadline, requester }) {
        const { secret, token } = await useCases.login(body, deadline, requester)
        return { token: secret, expires_at: isoTimeOrNull(token.expiresAtMs) }
      },
    }),
    route('POST /me', {
      auth: 'customer',
      returns,
      summary: 'Who am I',
      tags: ['Login'],
      // Of a generic schema, the compiler cannot know that the fields fit it.
      handle: (cachesMe ? cachedBodies(returns, present) : present) as () => never,
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
      scopes: ['status'],
      returns: v.object({ online: v.boolean(), version: v.pipe(v.string(), v.examples(['1.4.0'])) }),
      summary: 'Whether the service is up, and its version',
      tags: ['Service'],
      handle: () => ({ online: true, version }),
    }),
  ]
}
