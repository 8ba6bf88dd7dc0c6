import { andThen, type MaybePromise } from '../../../lib/maybe-promise.ts'
import { InvalidJson, PayloadTooLarge } from '../errors.ts'
import type { ResponseFields } from '../response/json-body.ts'
import type { Route } from '../routing/declared-route.ts'
import type { Exchange } from '../server/exchange.ts'
import { readBody } from './body.ts'
import type { RequestInput } from './context.ts'
import { parseJson } from './json.ts'
import { checkMediaType } from './media-type.ts'
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

/** Reads and parses the JSON body. Checks the media type before it reads the first byte. */
async function readJson(exchange: Exchange): Promise<unknown> {
  const { declaredBytes } = exchange
  if (declaredBytes === 0) throw new InvalidJson()
  checkMediaType(exchange)
  checkDeclaredLength(exchange)
  const chunks: Buffer[] = []
  await readBody(exchange, (chunk) => chunks.push(chunk))
  return parseJson(chunks)
}

/** Discards the body of a route that needs none. Resolves when its size is known to be within the limit. */
function dropBody(exchange: Exchange): MaybePromise<void> {
  checkDeclaredLength(exchange)
  // A body of a known length within the limit needs no wait: the parser skips it.
  if (exchange.declaredBytes === null) return readBody(exchange, () => {})
}

function checkDeclaredLength({ declaredBytes, bodyLimitBytes }: Exchange): void {
  if (declaredBytes !== null && declaredBytes > bodyLimitBytes) throw new PayloadTooLarge()
}

function parseQuery({ request }: Exchange): ResponseFields {
  const url = request.url ?? ''
  const at = url.indexOf('?')
  return at === -1 ? {} : Object.fromEntries(new URLSearchParams(url.slice(at + 1)))
}
