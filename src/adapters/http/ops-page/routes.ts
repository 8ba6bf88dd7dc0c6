import * as v from 'valibot'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import { emailProblem, trimmedEmail } from '../../../domain/customer.ts'
import type { RequestContext } from '../request/context.ts'
import type { ResponseFields } from '../response/json-body.ts'
import { declareRoute, type Route, type Schema } from '../routing/declared-route.ts'
import { customerDetails, tokenDetails } from './customer-details.ts'
import { opsPage } from './page.ts'
import { requireSameOrigin } from './same-origin.ts'

/** What the operator's page shows of the service that it is a page of. */
export interface OpsSource {
  /** What was measured lately, and by which process. */
  readonly live: () => ResponseFields
  readonly nowMs: () => number
  /** Where the service is reached, if it is not where it listens. */
  readonly publicUrl: string | null
}

const uuid = v.pipe(v.string(), v.uuid())
const byEmail = v.object({
  email: v.pipe(
    v.string(),
    v.transform(trimmedEmail),
    v.check((email) => emailProblem(email) === null, 'Must be an e-mail.'),
  ),
})
const ofCustomer = v.object({ customer_id: uuid })
const ofToken = v.object({ customer_id: uuid, token_id: uuid })

interface Asked<Body> extends RequestContext {
  /** The name of the service token. */
  readonly service: string
  readonly body: Body
}

/** The operator's page with what it asks for: all but its files behind a service token. */
export function opsRoutes(useCases: UseCases, { live, nowMs, publicUrl }: OpsSource): readonly Route[] {
  const { customers, tokens } = useCases
  return [
    ...opsPage(),
    declareRoute('', 'GET /ops/live', { auth: 'service', handle: () => live() }),

    // An e-mail is sent in a body: addresses are kept by browsers, balancers and logs.
    asked('POST /ops/customer', byEmail, async ({ body, deadline }) => {
      const customer = await customers.find(body.email, deadline)
      if (customer === null) return { customer: null, tokens: [], more: 0 }
      const all = await tokens.listByCustomer(customer.id, deadline)
      return { customer: customerDetails(customer), ...tokenDetails(all, nowMs()) }
    }),
    asked('POST /ops/revoke', ofToken, async ({ body, deadline, requester, service }) => ({
      revoked: await tokens.revoke(body.customer_id, { id: body.token_id }, deadline, { requester, service }),
    })),
    asked('POST /ops/revoke-all', ofCustomer, async ({ body, deadline, requester, service }) => ({
      revoked: await tokens.revoke(body.customer_id, {}, deadline, { requester, service }),
    })),
  ]

  function asked<S extends Schema>(
    pattern: `POST /${string}`,
    body: S,
    handle: (context: Asked<v.InferOutput<S>>) => Promise<ResponseFields>,
  ): Route {
    return declareRoute('', pattern, {
      auth: 'service',
      body,
      throws: ['same_origin_required'],
      handle(context: Asked<v.InferOutput<S>>) {
        requireSameOrigin(context.headers, publicUrl)
        return handle(context)
      },
    })
  }
}
