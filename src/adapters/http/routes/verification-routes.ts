import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import { isAbility } from '../../../domain/abilities.ts'
import type { Memo, OwnedToken } from '../../../domain/login-token.ts'
import { andThen } from '../../../lib/maybe-promise.ts'
import { InvalidParameters } from '../errors.ts'
import { basicCredentials, formToken, serviceToken } from '../request/bearer-token.ts'
import type { Context } from '../request/context.ts'
import { FORM_TYPE, readFormToken } from '../request/form.ts'
import { JsonBody } from '../response/json-body.ts'
import { declareRoute, type Route } from '../routing/declared-route.ts'

const FORM = { isOAuth: true, body: 'bytes', accepts: [FORM_TYPE], tags: ['Verification'] } as const

/**
 * Returns the routes with which other programs verify tokens: token introspection (RFC 7662), token revocation (RFC 7009)
 * and the authentication of a gateway's requests. With `hasTokenScheme`, a token may be presented as `Token <key>`.
 */
export function verificationRoutes(useCases: UseCases, hasTokenScheme: boolean): readonly Route[] {
  const readToken = (body: Uint8Array, target = '') => formToken(readFormToken(body, target), hasTokenScheme)
  return [
    declareRoute('', 'POST /introspect', {
      ...FORM,
      auth: 'service',
      scopes: ['introspect'],
      summary: 'Whether a token is active, and whose it is (RFC 7662)',
      handle({ body, requester, deadline, service }: FormContext & { readonly service: string }) {
        const token = readToken(body, requester.request.url)
        return andThen(useCases.introspect(token, deadline, { requester, service }), present)
      },
    }),
    declareRoute('', 'POST /revoke', {
      ...FORM,
      auth: 'none',
      summary: 'Revoke a token (RFC 7009)',
      async handle({ body, requester, deadline }: FormContext) {
        const token = readToken(body, requester.request.url)
        const { authorization } = requester.head
        const presented = basicCredentials(authorization) ?? serviceToken(authorization, hasTokenScheme)
        const service =
          presented === token ? null : useCases.verifyServiceToken(presented, ['revoke'], requester)
        await useCases.revokePresented(token, deadline, { requester, service })
        return undefined
      },
    }),
    declareRoute('', 'GET /forward-auth', {
      auth: 'customer',
      takesAnyMethod: true,
      ignoresBody: true,
      summary: 'Authenticate the request of a gateway',
      tags: ['Verification'],
      handle(caller: OwnedToken & Pick<Context, 'requester'>) {
        const abilities = requiredAbilities(caller.requester.request.url ?? '')
        if (abilities.length > 0) useCases.authorize(caller, abilities, caller.requester)
        return identify(caller)
      },
    }),
  ]
}

type FormContext = Pick<Context, 'requester' | 'deadline'> & { readonly body: Uint8Array }

const INACTIVE = new JsonBody(undefined, { text: '{"active":false}' })

/** Returns a function that keeps its results for as long as the validations are cached. */
function cachedBody(create: (owned: OwnedToken) => JsonBody): (owned: OwnedToken) => JsonBody {
  const bodies = new WeakMap<Memo, JsonBody>()
  return (owned) => {
    const { memo } = owned
    if (memo === undefined) return create(owned)
    let body = bodies.get(memo)
    if (body === undefined) {
      body = create(owned)
      bodies.set(memo, body)
    }
    return body
  }
}

/** Without a body: nginx closes the connection of an `auth_request` whose response has one. */
const identify = cachedBody((owned) => new JsonBody(undefined, { text: '', headers: identityHeaders(owned) }))

const present = (owned: OwnedToken | null) => (owned === null ? INACTIVE : introspection(owned))

/** RFC 7662, section 2.2. Times are seconds since the Unix epoch. */
const introspection = cachedBody(({ token, customer }) => {
  const text = JSON.stringify({
    active: true,
    sub: customer.id,
    username: customer.email,
    // A scope has at least one word.
    scope: token.abilities.join(' ') || undefined,
    token_type: 'Bearer',
    iat: Math.floor(token.createdAtMs / 1000),
    exp: token.expiresAtMs === null ? undefined : Math.floor(token.expiresAtMs / 1000),
    token_name: token.name,
  })
  return new JsonBody(undefined, { text })
})

/** Returns the values of `ability` in the query. Throws `InvalidParameters` for any other or an empty parameter. */
function requiredAbilities(target: string): readonly string[] {
  const at = target.indexOf('?')
  if (at === -1) return []
  return [...new URLSearchParams(target.slice(at + 1))].map(([name, value]) => {
    if (name === 'ability' && isAbility(value)) return value
    throw new InvalidParameters('The query may only have abilities, such as ability=orders:read.')
  })
}

function identityHeaders({ token, customer }: OwnedToken): readonly string[] {
  return [
    'X-Latchkey-Customer',
    customer.id,
    'X-Latchkey-Email',
    encodeHeader(customer.email),
    'X-Latchkey-Token-Id',
    token.id,
    'X-Latchkey-Token-Name',
    encodeHeader(token.name),
    'X-Latchkey-Abilities',
    token.abilities.map(encodeHeader).join(' '),
  ]
}

/** Percent-encodes, as UTF-8, what is not visible ASCII, and the percent sign. */
function encodeHeader(text: string): string {
  return /^[!-$&-~]*$/.test(text) ? text : text.toWellFormed().replace(/[^!-~]|%/gu, encodeURIComponent)
}
