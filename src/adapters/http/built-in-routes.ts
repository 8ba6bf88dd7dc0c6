import * as v from 'valibot'
import type { Latchkey } from '../../application/latchkey.ts'
import { isoTime, me } from '../../application/me.ts'
import { emailProblem, trimmedEmail } from '../../domain/customer.ts'
import { Unavailable } from '../../domain/errors.ts'
import type { OwnedToken } from '../../domain/login-token.ts'
import { presentedPasswordProblem } from '../../domain/password.ts'
import { keptFor } from './answer-text.ts'
import { probe, type Route, route } from './route.ts'

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

const credentials = v.object({
  email: text((email) => emailProblem(trimmedEmail(email))),
  password: text(presentedPasswordProblem),
})

/** The routes that every service has: login, me, logout and status. */
export function builtInRoutes(
  latchkey: Latchkey,
  {
    version,
    keepsAnswers,
  }: {
    readonly version: string
    /** Whether validations are kept, so that an answer made from one is asked for again. */
    readonly keepsAnswers: boolean
  },
): readonly Route[] {
  const profile = (caller: OwnedToken) => ({ ...me(caller) })
  return [
    route('POST /login', {
      auth: 'none',
      body: credentials,
      async handle({ body, patience }) {
        const { secret, token } = await latchkey.login(body, patience)
        return { token: secret, expires_at: token.expiresAtMs === null ? null : isoTime(token.expiresAtMs) }
      },
    }),
    route('POST /me', { auth: 'customer', handle: keepsAnswers ? keptFor(profile) : profile }),
    route('POST /logout', {
      auth: 'customer',
      handle: (caller) => latchkey.logout(caller, caller.patience),
    }),
    route('GET /status', { auth: 'service', handle: () => ({ online: true, version }) }),
  ]
}

/** The probes of orchestrators: `livez` does no I/O, `readyz` asks whether requests would be served. */
export function probeRoutes(ready: () => Promise<boolean>): readonly Route[] {
  return [
    probe('GET /livez', async () => undefined),
    probe('GET /readyz', async () => {
      if (!(await ready())) throw new Unavailable()
      return undefined
    }),
  ]
}
