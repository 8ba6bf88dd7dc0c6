import * as v from 'valibot'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import { emailProblem, trimmedEmail } from '../../../domain/customer.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { ResponseFields } from '../response/json-body.ts'
import { declareRoute, type Route, type Schema } from '../routing/declared-route.ts'
import { customerDetails, limitDetails, sessionDetails, tokenDetails } from './customer-details.ts'
import { opsPage } from './page.ts'
import { requireSameOrigin } from './same-origin.ts'

/** The data that the operator's page shows about the service. */
export interface OpsSource {
  /** What is wrong, recent samples and events, and the process that reports them. */
  readonly live: () => ResponseFields | Promise<ResponseFields>
  readonly nowMs: () => number
  /** The service's public URL; null when it equals the listening address. */
  readonly publicUrl: string | null
}

const uuid = v.pipe(v.string(), v.uuid())
const search = v.pipe(
  v.string(),
  v.transform(trimmedEmail),
  v.check((text) => emailProblem(text) === null, 'Must be an e-mail, or the id of a customer or a token.'),
)
const searchField = v.object({ search })
const emailField = v.object({ email: search })
const customerFields = v.object({ customer_id: uuid })
const tokenFields = v.object({ customer_id: uuid, token_id: uuid })

/** The list of a customer with many tokens takes longer than other requests. */
const LIST_TIMEOUT_MS = 10_000
const ACCESS = { auth: 'service', scopes: ['ops'] } as const

interface ActionContext<Body> extends RequestContext {
  /** The name of the service token. */
  readonly service: string
  readonly body: Body
}

/** Returns the routes of the operator's page and of its data. The data requires a service token with the scope `ops`. */
export function opsRoutes(useCases: UseCases, { live, nowMs, publicUrl }: OpsSource): readonly Route[] {
  const { customers, tokens, sessions } = useCases
  return [
    ...opsPage(),
    declareRoute('', 'GET /ops/live', { ...ACCESS, handle: () => live() }),

    // The e-mail is sent in the body, because browsers, load balancers and logs store URLs.
    action('POST /ops/customer', searchField, async ({ body, deadline, requester, service }) => {
      const by = v.is(uuid, body.search) ? { id: body.search.toLowerCase() } : { email: body.search }
      const found = await customers.view(by, deadline, { requester, service })
      if (found === null)
        return { customer: null, login_limits: null, sessions: [], active: 0, tokens: [], more: 0 }
      const { customer, failures } = found
      const active = await sessions.listByCustomer(customer.id, deadline)
      const all = await tokens.listByCustomer(customer.id, useCases.deadline(LIST_TIMEOUT_MS))
      return {
        customer: customerDetails(customer),
        login_limits: limitDetails(failures),
        sessions: sessionDetails(active),
        ...tokenDetails(all, nowMs()),
      }
    }),
    action('POST /ops/unlock', emailField, async ({ body, deadline, requester, service }) => {
      const customer = await customers.find(body.email, deadline)
      if (customer === null) return { unlocked: false, revoked: 0 }
      return { unlocked: true, revoked: await customers.unlock(customer, deadline, { requester, service }) }
    }),
    action('POST /ops/revoke', tokenFields, async ({ body, deadline, requester, service }) => ({
      revoked: await tokens.revoke(body.customer_id, { id: body.token_id }, deadline, { requester, service }),
    })),
    action('POST /ops/revoke-all', customerFields, async ({ body, deadline, requester, service }) => ({
      revoked: await tokens.revoke(body.customer_id, {}, deadline, { requester, service }),
    })),
  ]

  function action<S extends Schema>(
    pattern: `POST /${string}`,
    body: S,
    handle: (context: ActionContext<v.InferOutput<S>>) => Promise<ResponseFields>,
  ): Route {
    return declareRoute('', pattern, {
      ...ACCESS,
      body,
      throws: ['same_origin_required'],
      handle(context: ActionContext<v.InferOutput<S>>) {
        requireSameOrigin(context.headers, publicUrl)
        return handle(context)
      },
    })
  }
}
