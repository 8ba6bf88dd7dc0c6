import * as v from 'valibot'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import type { LoginToken } from '../../../domain/login-token.ts'
import { presentedPasswordProblem } from '../../../domain/password.ts'
import { NotFound } from '../errors.ts'
import { isoTime, isoTimeOrNull } from '../response/iso-time.ts'
import { route } from '../routing/route.ts'
import { text } from './text-schema.ts'

const time = v.pipe(v.string(), v.isoTimestamp())
const count = v.pipe(v.number(), v.integer())

const session = v.object({
  id: v.pipe(v.string(), v.uuid()),
  current: v.boolean(),
  device: v.nullable(v.pipe(v.string(), v.examples(['Ana’s phone']))),
  created_at: time,
  last_used_at: v.nullable(time),
  expires_at: v.nullable(time),
})

const passwords = v.pipe(
  v.object({
    current_password: text(presentedPasswordProblem),
    // Checked like one that an operator sets, by the use case.
    new_password: v.string(),
  }),
  v.examples([
    { current_password: 'correct horse battery staple', new_password: 'another horse battery staple' },
  ]),
)

/** Returns the routes with which customers manage their own sessions and password. Custom routes may replace them. */
export function sessionRoutes({ sessions, passwords: passwordChanges }: UseCases) {
  return [
    route('GET /sessions', {
      auth: 'customer',
      returns: v.object({ sessions: v.array(session) }),
      summary: 'List my sessions, newest first',
      tags: ['Sessions'],
      throws: ['login_token_required'],
      async handle(caller) {
        const active = await sessions.list(caller, caller.deadline)
        return { sessions: active.map((one) => presentSession(one, caller.token.id)) }
      },
    }),
    {
      ...route('DELETE /sessions/:id', {
        auth: 'customer',
        summary: 'End one of my sessions',
        tags: ['Sessions'],
        throws: ['login_token_required'],
        async handle(caller) {
          const isEnded = await sessions.end(caller, caller.params.id, caller.deadline, caller.requester)
          if (!isEnded) throw new NotFound('You have no such session.')
        },
      }),
      settlesRefusals: true,
    },
    {
      ...route('DELETE /sessions', {
        auth: 'customer',
        query: v.object({ except: v.optional(v.literal('current')) }),
        returns: v.object({ revoked: count }),
        summary: 'End all my sessions, or all but the current one',
        tags: ['Sessions'],
        throws: ['login_token_required'],
        handle: async (caller) => ({
          revoked: await sessions.endAll(
            caller,
            { exceptCurrent: caller.query.except === 'current' },
            caller.deadline,
            caller.requester,
          ),
        }),
      }),
      settlesRefusals: true,
    },
    {
      ...route('POST /password', {
        auth: 'customer',
        body: passwords,
        returns: v.object({ revoked: count }),
        summary: 'Change my password; all my other tokens are revoked',
        tags: ['Sessions'],
        throws: ['login_token_required', 'invalid_credentials', 'too_many_requests'],
        handle: async (caller) => ({
          revoked: await passwordChanges.change(
            caller,
            { currentPassword: caller.body.current_password, newPassword: caller.body.new_password },
            caller.deadline,
            caller.requester,
          ),
        }),
      }),
      settlesRefusals: true,
    },
  ] as const
}

function presentSession(session: LoginToken, currentId: string) {
  return {
    id: session.id,
    current: session.id === currentId,
    device: session.device,
    created_at: isoTime(session.createdAtMs),
    last_used_at: isoTimeOrNull(session.lastUsedAtMs),
    expires_at: isoTimeOrNull(session.expiresAtMs),
  }
}
