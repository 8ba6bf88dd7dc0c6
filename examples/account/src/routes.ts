import { createHash } from 'node:crypto'
import {
  type Customer,
  type RequestContext,
  route,
  TooManyLogins,
  Unavailable,
  type UseCases,
  ValidationFailed,
} from 'latchkey'
import type { LoginThrottle } from 'latchkey/ports'
import * as v from 'valibot'
import type { Mail } from './mailer.ts'
import type { createMails } from './mails.ts'

const HOUR_MS = 3_600_000
const SIGN_UP = { purpose: 'sign-up', ttlMs: 24 * HOUR_MS }
const RESET = { purpose: 'password-reset', ttlMs: HOUR_MS }

/** The work after a response, which waits for the database and the mail server. */
const WORK_TIMEOUT_MS = 10_000

const newPassword = v.object({ token: v.string(), new_password: v.string() })
type NewPassword = v.InferOutput<typeof newPassword>

const email = v.pipe(v.string(), v.trim(), v.email(), v.maxLength(254))
const common = { auth: 'none', tags: ['Account'] } as const

/** The dependencies of the routes. */
export interface AccountRoutesOptions {
  readonly useCases: UseCases
  readonly mails: ReturnType<typeof createMails>
  /** Sends a mail. Rejects when it could not be sent. */
  readonly send: (mail: Mail) => Promise<void>
  /** Limits the mails by e-mail and by address. */
  readonly throttle: LoginThrottle
}

/**
 * Returns the routes with which a customer signs up, verifies the e-mail and replaces a forgotten password. No response reveals whether
 * a customer has the e-mail: only a mail does.
 */
export function accountRoutes({ useCases, mails, send, throttle }: AccountRoutesOptions) {
  const { customers, oneTimeTokens, passwords } = useCases

  return [
    route('POST /sign-up', {
      ...common,
      body: v.object({ email, name: v.optional(v.pipe(v.string(), v.maxLength(200))) }),
      summary: 'Sign up: sends a mail with a link to confirm the e-mail',
      throws: ['too_many_requests'],
      async handle(context) {
        const { body } = context
        await limit(context, body.email)
        afterwards(context, async () => {
          const deadline = useCases.deadline(WORK_TIMEOUT_MS)
          const customer = await customers.add(
            { email: body.email, name: body.name ?? null, password: null },
            deadline,
          )
          if (customer !== null) return mail(context, customer, SIGN_UP, mails.confirmSignUp)
          // There is an account with this e-mail, perhaps one that was never confirmed.
          await mailReset(context, body.email)
        })
      },
    }),

    route('POST /sign-up/confirm', {
      ...common,
      body: newPassword,
      summary: 'Confirm the e-mail with the token of the mail, and choose a password',
      handle: (context) => reset(context, SIGN_UP.purpose),
    }),

    route('POST /password/forgotten', {
      ...common,
      body: v.object({ email }),
      summary: 'Forgotten password: sends a mail with a link to choose another',
      throws: ['too_many_requests'],
      async handle(context) {
        await limit(context, context.body.email)
        afterwards(context, () => mailReset(context, context.body.email))
      },
    }),

    route('POST /password/reset', {
      ...common,
      body: newPassword,
      summary: 'Choose a new password with the token of the mail',
      handle: (context) => reset(context, RESET.purpose),
    }),
  ]

  /**
   * Counts a mail. Throws `TooManyLogins` after too many to the e-mail or from the address, and `Unavailable` while parallel
   * requests hold what is left of the limit.
   */
  async function limit({ deadline, clientAddress }: RequestContext, to: string): Promise<void> {
    // With both prefixes, mails do not count as failed logins where the throttle has the same store as that of logins.
    const account = `mail ${createHash('sha256').update(to.toLowerCase()).digest('hex')}`
    const attempt = { account, address: `mail ${clientAddress}` }
    const admission = await deadline.run((timeoutMs) => throttle.take(attempt, timeoutMs))
    if (admission.kind === 'refused') throw new TooManyLogins(admission.limit)
    if (admission.kind === 'wait') throw new Unavailable()
    await deadline.run((timeoutMs) => throttle.settle(admission.slot, 'failed', timeoutMs))
  }

  /** Works after the response, so that its time does not tell whether a customer has the e-mail. */
  function afterwards({ log }: RequestContext, work: () => Promise<void>): void {
    work().catch((error) => log.error('account.mail_failed', { error: String(error) }))
  }

  async function mailReset(context: RequestContext, to: string): Promise<void> {
    const customer = await customers.find(to, useCases.deadline(WORK_TIMEOUT_MS))
    if (customer !== null) await mail(context, customer, RESET, mails.resetPassword)
  }

  async function mail(
    { requestId, clientAddress: address }: RequestContext,
    { id: customerId, email: to }: Customer,
    token: typeof SIGN_UP,
    create: (to: string, secret: string) => Mail,
  ): Promise<void> {
    const deadline = useCases.deadline(WORK_TIMEOUT_MS)
    const issued = await oneTimeTokens.issue({ customerId, ...token }, deadline, { requestId, address })
    if (issued !== null) await send(create(to, issued.secret))
  }

  async function reset(
    { body, deadline, requester }: RequestContext & { readonly body: NewPassword },
    purpose: string,
  ): Promise<void> {
    const presented = { secret: body.token, purpose, newPassword: body.new_password }
    const customer = await passwords.reset(presented, deadline, requester)
    if (customer === null)
      throw new ValidationFailed({ token: ['Is not valid any more. Ask for another mail.'] })
  }
}
