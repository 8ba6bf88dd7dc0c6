import { Readable } from 'node:stream'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import type { Route } from '../routing/declared-route.ts'
import type { Exchange } from '../server/exchange.ts'
import { ProtocolUpgrade, sendUpgrade } from '../verifiers/upgrade.ts'
import { CustomResponse, discard, isContent } from './custom-response.ts'
import { FileResponse, sendFile } from './file-response.ts'
import { JsonBody, type ResponseFields } from './json-body.ts'
import { sendSuccess } from './response.ts'
import { conforming, undeclaredStatus } from './response-mismatch.ts'
import { sendCustom } from './send-custom.ts'
import { sendList } from './send-list.ts'
import { StreamedList } from './streamed-list.ts'

/** What a handler may return. */
export type HandlerResult =
  | ResponseFields
  | JsonBody
  | FileResponse
  | StreamedList
  | CustomResponse
  | ProtocolUpgrade
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
  if (result instanceof JsonBody) return sendSuccess(exchange, route.status, result, result.headers)
  if (result instanceof CustomResponse) return sendDeclared(exchange, route, result, authenticate)
  if (result instanceof ProtocolUpgrade) return sendUpgrade(exchange, result)
  if (result instanceof FileResponse) return sendFile(exchange, result)
  if (result instanceof StreamedList)
    return sendList(exchange, route, result, () => authenticate(route, exchange))
  const { status, returns } = route
  return sendSuccess(exchange, status, returns === null ? result : conforming(returns, result))
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
