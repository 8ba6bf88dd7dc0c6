import { once } from 'node:events'
import { Readable } from 'node:stream'
import * as v from 'valibot'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import type { Route } from '../routing/declared-route.ts'
import { unwrap } from '../routing/schema-entries.ts'
import type { Exchange } from '../server/exchange.ts'
import { CustomResponse, discard, isContent } from './custom-response.ts'
import { FileResponse, sendFile } from './file-response.ts'
import { JsonBody, type ResponseFields, toJsonText } from './json-body.ts'
import { COMMON, CONTENT_TYPE, sendSuccess, writeHead } from './response.ts'
import { conforming, undeclaredStatus } from './response-mismatch.ts'
import { sendCustom } from './send-custom.ts'
import { StreamedList } from './streamed-list.ts'

/** Characters of a list that are written at once. */
const CHUNK_CHARACTERS = 16 * 1024
/** While a list is streamed, the age at which the client is authenticated again before the next bytes. */
const MAX_AUTHENTICATION_AGE_MS = 100

/** What a handler may return. */
export type HandlerResult =
  | ResponseFields
  | JsonBody
  | FileResponse
  | StreamedList
  | CustomResponse
  | undefined

/** Authenticates the caller of a route. Rejects like a request without a valid token. */
type Reauthenticate = (route: Route, exchange: Exchange) => MaybePromise<unknown>

/** Sends a success with the handler's result, without fields that the route does not declare. */
export function sendResponse(
  exchange: Exchange,
  route: Route,
  result: HandlerResult,
  authenticate: Reauthenticate,
): MaybePromise<void> {
  if (result instanceof CustomResponse) return sendDeclared(exchange, route, result, authenticate)
  if (result instanceof FileResponse) return sendFile(exchange, result)
  if (result instanceof StreamedList) return sendList(exchange, route, result, authenticate)
  const { status, returns } = route
  const declared = returns === null || result instanceof JsonBody ? result : conforming(returns, result)
  return sendSuccess(exchange, status, declared)
}

function sendDeclared(
  exchange: Exchange,
  route: Route,
  response: CustomResponse,
  authenticate: Reauthenticate,
): MaybePromise<void> {
  const { returns, responses } = route
  const { status, body } = response
  if (responses !== null && !(status in responses)) {
    if (body instanceof Readable) discard(body)
    throw undeclaredStatus(status)
  }
  const fields = body === null || isContent(body) ? undefined : body
  const declared = returns === null || fields === undefined ? fields : conforming(returns, fields)
  return sendCustom(exchange, response, declared, () => authenticate(route, exchange))
}

async function sendList(
  exchange: Exchange,
  route: Route,
  { field, items, fields }: StreamedList,
  authenticate: Reauthenticate,
): Promise<void> {
  const { status, returns } = route
  let authenticatedMs = exchange.beganMs
  const declared = returns === null ? fields : conforming(withoutField(returns, field), fields)
  const texts = serializeItems(items, returns === null ? null : itemSchema(returns, field))
  try {
    // A failure before the first bytes gets a response like any other failure.
    let next = await texts.next()
    await reauthenticate()
    if (exchange.responded) return
    const { request, response } = exchange
    writeHead(exchange, status, [...CONTENT_TYPE, ...COMMON, 'X-Request-Id', exchange.requestId])
    if (!exchange.isWhole) request.resume()
    if (request.method === 'HEAD') return void response.end()
    exchange.streams = true
    let text = `${toJsonText(declared).slice(0, -1)},${JSON.stringify(field)}:[`
    for (let comma = ''; !next.done; comma = ',', next = await texts.next()) {
      exchange.signal.throwIfAborted()
      text += comma + next.value
      if (text.length < CHUNK_CHARACTERS) continue
      await reauthenticate()
      if (!response.write(text)) await once(response, 'drain', { signal: exchange.signal })
      text = ''
    }
    await reauthenticate()
    exchange.streams = false
    response.end(`${text}]}`)
  } catch (error) {
    // An incomplete list must not look complete.
    if (exchange.responded) exchange.response.destroy()
    throw exchange.signal.aborted ? exchange.signal.reason : error
  } finally {
    await texts.return()
  }

  async function reauthenticate(): Promise<void> {
    const nowMs = performance.now()
    if (nowMs - authenticatedMs < MAX_AUTHENTICATION_AGE_MS) return
    await authenticate(route, exchange)
    authenticatedMs = nowMs
  }
}

async function* serializeItems(
  items: StreamedList['items'],
  schema: v.GenericSchema | null,
): AsyncGenerator<string, void> {
  for await (const item of items)
    yield JSON.stringify(schema === null ? item : conforming(schema, item)) ?? 'null'
}

/** Returns the schema without the list. Throws if the schema checks the whole response, which streaming cannot support. */
function withoutField(returns: NonNullable<Route['returns']>, field: string): NonNullable<Route['returns']> {
  const { [field]: list, ...entries } = returns.entries
  if ([returns, list, list && unwrap(list as v.GenericSchema)].some(hasChecks))
    throw new Error(`The route returns ${field} with checks of the whole, which a streamed list cannot have.`)
  return v.object(entries)
}

function hasChecks(schema: object | undefined): boolean {
  const { pipe = [] } = (schema ?? {}) as {
    pipe?: readonly v.PipeItem<unknown, unknown, v.BaseIssue<unknown>>[]
  }
  return pipe.slice(1).some(({ kind, type }) => kind !== 'metadata' && type !== 'readonly')
}

function itemSchema({ entries }: NonNullable<Route['returns']>, field: string): v.GenericSchema {
  const declared = entries[field] as v.GenericSchema | undefined
  const list = declared && unwrap(declared)
  if (list?.type !== 'array') throw new Error(`The route returns no list named ${field}.`)
  return (list as v.ArraySchema<v.GenericSchema, undefined>).item
}
