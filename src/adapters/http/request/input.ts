import { andThen, type MaybePromise } from '../../../lib/maybe-promise.ts'
import type { ResponseFields } from '../response/json-body.ts'
import type { Route } from '../routing/declared-route.ts'
import type { Exchange } from '../server/exchange.ts'
import { dropBody, readJson } from './body.ts'
import type { RequestInput } from './context.ts'
import { validated } from './validation.ts'

/** Reads and validates body, query and path parameters. Throws or rejects with the failure of the first invalid part. */
export function readInput(
  route: Route,
  exchange: Exchange,
  params: Readonly<Record<string, string>>,
): MaybePromise<RequestInput> {
  const read = route.body === null ? dropBody(exchange) : readJson(exchange)
  return andThen(read, (body) => ({
    body: route.body === null ? undefined : validated(route.body, body, 'body'),
    query:
      route.query === null ? parseQuery(exchange) : validated(route.query, parseQuery(exchange), 'query'),
    params: route.params === null ? params : validated(route.params, params, 'params'),
  }))
}

function parseQuery({ request }: Exchange): ResponseFields {
  const url = request.url ?? ''
  const at = url.indexOf('?')
  return at === -1 ? {} : Object.fromEntries(new URLSearchParams(url.slice(at + 1)))
}
