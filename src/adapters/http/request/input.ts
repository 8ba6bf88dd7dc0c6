import { andThen, type MaybePromise } from '../../../lib/maybe-promise.ts'
import { InvalidJson, PayloadTooLarge } from '../errors.ts'
import type { Route, Schema } from '../routing/declared-route.ts'
import type { Exchange } from '../server/exchange.ts'
import { readBody } from './body.ts'
import { BodyStream } from './body-stream.ts'
import type { RequestInput } from './context.ts'
import { parseJson } from './json.ts'
import { checkJsonType, checkMediaType } from './media-type.ts'
import { parseQuery } from './query.ts'
import { validated } from './validation.ts'

/** Reads and validates body, query and path parameters. Throws or rejects with the failure of the first invalid part. */
export function readInput(
  route: Route,
  exchange: Exchange,
  params: Readonly<Record<string, string>>,
): MaybePromise<RequestInput> {
  if (hasNoInput(route, exchange)) return NO_INPUT
  return andThen(readRouteBody(route, exchange), ({ body, rawBody, bodyFailed }) => ({
    body: isSchema(route.body) ? validated(route.body, body, 'body') : body,
    rawBody,
    bodyFailed,
    query: readQuery(route, exchange),
    params: route.params === null ? params : validated(route.params, params, 'params'),
  }))
}

const NO_INPUT: RequestInput = Object.freeze({
  body: undefined,
  rawBody: undefined,
  bodyFailed: null,
  query: Object.freeze({}),
  params: Object.freeze({}),
})

/** Whether there is nothing to read, as in most requests of a route without a body. */
function hasNoInput({ body, query, params, hasParams }: Route, exchange: Exchange): boolean {
  if (body !== null || query !== null || params !== null || hasParams) return false
  return exchange.declaredBytes === 0 && exchange.request.url?.includes('?') === false
}

/** Whether the body is JSON of a schema. */
function isSchema(body: Route['body']): body is Schema {
  return body !== null && typeof body === 'object'
}

type ReadBody = Pick<RequestInput, 'body' | 'rawBody' | 'bodyFailed'>

const NO_BODY: ReadBody = { body: undefined, rawBody: undefined, bodyFailed: null }

function readRouteBody(route: Route, exchange: Exchange): MaybePromise<ReadBody> {
  if (route.ignoresBody) return ignoreBody(exchange)
  if (route.body === null) return dropBody(exchange)
  if (route.body === 'bytes') return readBytes(route, exchange)
  if (route.body === 'stream') return openBody(route, exchange)
  return readJson(route, exchange)
}

/** Reads and parses the JSON body. Checks the media type before it reads the first byte. */
async function readJson({ rawBody }: Route, exchange: Exchange): Promise<ReadBody> {
  if (exchange.declaredBytes === 0) throw new InvalidJson()
  checkJsonType(exchange)
  checkDeclaredLength(exchange)
  const bytes = await readBody(exchange)
  return { ...NO_BODY, body: parseJson(bytes), rawBody: rawBody ? bytes : undefined }
}

function readBytes(route: Route, exchange: Exchange): Promise<ReadBody> {
  checkRawType(route, exchange)
  checkDeclaredLength(exchange)
  return readBody(exchange).then((body) => ({ ...NO_BODY, body }))
}

function openBody(route: Route, exchange: Exchange): ReadBody {
  checkRawType(route, exchange)
  checkDeclaredLength(exchange)
  const stream = new BodyStream(exchange)
  return { ...NO_BODY, body: stream, bodyFailed: stream.failed }
}

function checkRawType({ accepts }: Route, exchange: Exchange): void {
  if (exchange.declaredBytes !== 0) checkMediaType(exchange, accepts)
}

/** Responds at once, even if the body is too large, or never arrives: its bytes could not be skipped. */
function ignoreBody(exchange: Exchange): ReadBody {
  if (!exchange.isWhole) exchange.closes = true
  return NO_BODY
}

/** Discards the body of a route that needs none. Resolves when its size is known to be within the limit. */
function dropBody(exchange: Exchange): MaybePromise<ReadBody> {
  checkDeclaredLength(exchange)
  // A body of a known length within the limit needs no wait: the parser skips it.
  return exchange.declaredBytes === null ? readBody(exchange).then(() => NO_BODY) : NO_BODY
}

function checkDeclaredLength({ declaredBytes, bodyLimitBytes }: Exchange): void {
  if (declaredBytes !== null && declaredBytes > bodyLimitBytes) throw new PayloadTooLarge()
}

function readQuery({ query, listParameters }: Route, { request }: Exchange): unknown {
  const url = request.url ?? ''
  const at = url.indexOf('?')
  if (query === null) return at === -1 ? {} : Object.fromEntries(new URLSearchParams(url.slice(at + 1)))
  return validated(query, parseQuery(at === -1 ? '' : url.slice(at + 1), query, listParameters), 'query')
}
