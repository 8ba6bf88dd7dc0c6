import { once } from 'node:events'
import * as v from 'valibot'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import type { Route } from '../routing/declared-route.ts'
import type { Exchange } from '../server/exchange.ts'
import { FileResponse, sendFile } from './file-response.ts'
import { JsonBody, type ResponseFields, toJsonText } from './json-body.ts'
import { COMMON, CONTENT_TYPE, sendSuccess, writeHead } from './response.ts'
import { conforming } from './response-mismatch.ts'
import { StreamedList } from './streamed-list.ts'

/** So much of a list is written at once. */
const CHUNK_CHARACTERS = 16 * 1024
/** Age at which the authentication of a client that is being sent a list is repeated, before the next bytes. */
const MAX_AUTHENTICATION_AGE_MS = 100

/** Authenticates the caller of a route; rejects with what a request without a valid token is refused with. */
type Authenticate = (route: Route, exchange: Exchange) => MaybePromise<unknown>

/** Answers a success with what a handler answered, without what its route does not declare. */
export function sendResponse(
  exchange: Exchange,
  route: Route,
  answer: ResponseFields | JsonBody | FileResponse | StreamedList | undefined,
  authenticate: Authenticate,
): MaybePromise<void> {
  if (answer instanceof FileResponse) return sendFile(exchange, answer)
  if (answer instanceof StreamedList) return sendList(exchange, route, answer, authenticate)
  const { status, returns } = route
  const declared = returns === null || answer instanceof JsonBody ? answer : conforming(returns, answer)
  return sendSuccess(exchange, status, declared)
}

async function sendList(
  exchange: Exchange,
  route: Route,
  { field, items, fields }: StreamedList,
  authenticate: Authenticate,
): Promise<void> {
  const { status, returns } = route
  let authenticatedMs = exchange.beganMs
  const declared = returns === null ? fields : conforming(restOf(returns, field), fields)
  const texts = textsOf(items, returns === null ? null : itemOf(returns, field))
  try {
    // What fails before anything was sent is answered like any other failure.
    let next = await texts.next()
    await stayAuthenticated()
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
      await stayAuthenticated()
      if (!response.write(text)) await once(response, 'drain', { signal: exchange.signal })
      text = ''
    }
    await stayAuthenticated()
    exchange.streams = false
    response.end(`${text}]}`)
  } catch (error) {
    // A list that ends early must not look like a whole one.
    if (exchange.responded) exchange.response.destroy()
    throw exchange.signal.aborted ? exchange.signal.reason : error
  } finally {
    await texts.return()
  }

  async function stayAuthenticated(): Promise<void> {
    const nowMs = performance.now()
    if (nowMs - authenticatedMs < MAX_AUTHENTICATION_AGE_MS) return
    await authenticate(route, exchange)
    authenticatedMs = nowMs
  }
}

async function* textsOf(
  items: StreamedList['items'],
  schema: v.GenericSchema | null,
): AsyncGenerator<string, void> {
  for await (const item of items)
    yield JSON.stringify(schema === null ? item : conforming(schema, item)) ?? 'null'
}

/** What is declared beside the list. What looks at an answer as a whole cannot look at one that is sent while it is made. */
function restOf(returns: NonNullable<Route['returns']>, field: string): NonNullable<Route['returns']> {
  const { [field]: list, ...entries } = returns.entries
  if ([returns, list, unwrapped(list)].some(hasChecks))
    throw new Error(`The route returns ${field} with checks of the whole, which a streamed list cannot have.`)
  return v.object(entries)
}

function hasChecks(schema: object | undefined): boolean {
  const { pipe = [] } = (schema ?? {}) as {
    pipe?: readonly v.PipeItem<unknown, unknown, v.BaseIssue<unknown>>[]
  }
  return pipe.slice(1).some(({ kind, type }) => kind !== 'metadata' && type !== 'readonly')
}

/** A list that may be left out is one where it is answered. */
function unwrapped(schema: v.ObjectEntries[string] | undefined): v.ObjectEntries[string] | undefined {
  return schema !== undefined && 'wrapped' in schema
    ? unwrapped(schema.wrapped as v.ObjectEntries[string])
    : schema
}

function itemOf({ entries }: NonNullable<Route['returns']>, field: string): v.GenericSchema {
  const list = unwrapped(entries[field])
  if (list?.type !== 'array') throw new Error(`The route returns no list named ${field}.`)
  return (list as v.ArraySchema<v.GenericSchema, undefined>).item
}
