import type { IncomingMessage } from 'node:http'
import { authorise, type Caller } from '../../application/authenticate.ts'
import type { Latchkey } from '../../application/latchkey.ts'
import type { Patience } from '../../application/patience.ts'
import type { Log } from '../../application/ports.ts'
import { type Soon, whenThere } from '../../application/soon.ts'
import { LatchkeyError, Unavailable } from '../../domain/errors.ts'
import { sendFailure, sendSuccess } from './answer.ts'
import { dropBody, readJson } from './body.ts'
import { bearerToken } from './credentials.ts'
import { type HttpError, Internal } from './errors.ts'
import { ClientGone, type Exchange } from './exchange.ts'
import { refusedByGate } from './gate.ts'
import type { AnswerFields, Route } from './route.ts'
import type { Router } from './router.ts'
import { validated } from './validation.ts'

/** Who calls: a customer, a service, or nobody known. */
type AnyCaller = Partial<Caller> & { readonly service?: string }

const NOBODY: AnyCaller = {}

/** Takes one request through every step to its answer; never throws. */
export type Dispatch = (exchange: Exchange) => void

/** The steps of a request in their order; none goes back, and none waits for what is there already. */
export function makeDispatch(router: Router, latchkey: Latchkey, log: Log): Dispatch {
  return function dispatch(exchange) {
    try {
      const answering = answer(exchange)
      if (answering instanceof Promise) answering.catch((error: unknown) => fail(exchange, error))
    } catch (error) {
      fail(exchange, error)
    }
  }

  function answer(exchange: Exchange): Soon<void> {
    const { request } = exchange
    const refused = refusedByGate(request)
    if (refused !== null) throw refused
    const match = router(request.method ?? '', request.url ?? '')
    if (match.kind === 'options') return sendSuccess(exchange, 204, undefined, ['Allow', match.allow])
    const { route, params } = match
    exchange.route = route.path
    if (route.bodyLimitBytes !== null) exchange.bodyLimitBytes = route.bodyLimitBytes

    const patience = latchkey.patience()
    return whenThere(admitted(route, request, patience), (caller) =>
      whenThere(input(route, exchange, params), ({ body, query, params }) => {
        const { customer, token, digest, service } = caller
        const { requestId } = exchange
        const { headers } = request
        // Written out: spreading costs more than all other steps together.
        const context = {
          customer,
          token,
          digest,
          service,
          body,
          query,
          params,
          requestId,
          headers,
          patience,
        }
        return whenThere(route.handle(context as never), (fields) =>
          sendSuccess(exchange, route.status, fields),
        )
      }),
    )
  }

  function admitted(route: Route, { headers }: IncomingMessage, patience: Patience): Soon<AnyCaller> {
    switch (route.auth) {
      case 'customer':
        return whenThere(latchkey.authenticate(bearerToken(headers.authorization), patience), (caller) => {
          authorise(caller, route.abilities)
          return caller
        })
      case 'service':
        return { service: latchkey.verifyServiceToken(serviceToken(headers.authorization)) }
      case 'none':
        return NOBODY
    }
  }

  function fail(exchange: Exchange, error: unknown): void {
    if (error instanceof ClientGone) return
    const told = error instanceof LatchkeyError ? error : new Internal(error)
    if (told instanceof Internal || told instanceof Unavailable) logFailure(exchange, told)
    sendFailure(exchange, told)
  }

  function logFailure({ requestId, request, route }: Exchange, error: HttpError | Unavailable): void {
    const cause = error.cause
    log[error instanceof Unavailable ? 'warn' : 'error']('request.failed', {
      request_id: requestId,
      ...(request.method === undefined ? {} : { method: request.method }),
      ...(route === null ? {} : { route }),
      ...(cause instanceof Error ? described(cause) : {}),
    })
  }
}

/** What may be told of an error in a log: its message may repeat what a caller sent. */
function described(error: Error): { error: string; code?: string; stack?: string } {
  const { code } = error as { code?: unknown }
  const frames = error.stack?.split('\n').filter((line) => line.startsWith('    at '))
  return {
    error: error.name,
    ...(typeof code === 'string' ? { code } : {}),
    ...(frames === undefined ? {} : { stack: frames.join('\n') }),
  }
}

/** Null for whatever is no bearer token: a service route has one answer for all of them. */
function serviceToken(authorization: string | undefined): string | null {
  try {
    return bearerToken(authorization)
  } catch {
    return null
  }
}

function input(
  route: Route,
  exchange: Exchange,
  params: Readonly<Record<string, string>>,
): Soon<{ body: unknown; query: unknown; params: unknown }> {
  const read = route.body === null ? dropBody(exchange) : readJson(exchange)
  return whenThere(read, (body) => ({
    body: route.body === null ? undefined : validated(route.body, body, 'body'),
    query: route.query === null ? {} : validated(route.query, queryOf(exchange), 'query'),
    params: route.params === null ? params : validated(route.params, params, 'params'),
  }))
}

function queryOf({ request }: Exchange): AnswerFields {
  const url = request.url ?? ''
  const at = url.indexOf('?')
  return at === -1 ? {} : Object.fromEntries(new URLSearchParams(url.slice(at + 1)))
}
