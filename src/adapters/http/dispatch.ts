import { authorise } from '../../application/authenticate.ts'
import type { Latchkey } from '../../application/latchkey.ts'
import type { Patience } from '../../application/patience.ts'
import type { Log } from '../../application/ports.ts'
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

/** Takes one request through every step to its answer; never rejects. */
export type Dispatch = (exchange: Exchange) => Promise<void>

/** The steps of a request in their order; none goes back. */
export function makeDispatch(router: Router, latchkey: Latchkey, log: Log): Dispatch {
  return async function dispatch(exchange) {
    try {
      const { request } = exchange
      const refused = refusedByGate(request)
      if (refused !== null) throw refused
      const match = router(request.method ?? '', request.url ?? '')
      if (match.kind === 'options') {
        sendSuccess(exchange, 204, undefined, ['Allow', match.allow])
        return
      }
      const { route } = match
      exchange.route = route.path
      exchange.bodyLimitBytes = route.bodyLimitBytes ?? exchange.bodyLimitBytes

      const patience = latchkey.patience()
      const caller = await authenticated(route, exchange, patience)
      const context = {
        ...caller,
        ...(await input(route, exchange, match.params)),
        requestId: exchange.requestId,
        headers: request.headers,
        patience,
      }
      const fields = await route.handle(context as never)
      sendSuccess(exchange, route.status, fields)
    } catch (error) {
      fail(exchange, error)
    }
  }

  async function authenticated(route: Route, { request }: Exchange, patience: Patience): Promise<object> {
    switch (route.auth) {
      case 'customer': {
        const caller = await latchkey.authenticate(bearerToken(request.headers.authorization), patience)
        authorise(caller, route.abilities)
        return caller
      }
      case 'service':
        return { service: latchkey.verifyServiceToken(serviceToken(request.headers.authorization)) }
      case 'none':
        return {}
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

async function input(
  route: Route,
  exchange: Exchange,
  params: Readonly<Record<string, string>>,
): Promise<{ body: unknown; query: unknown; params: unknown }> {
  const body = route.body === null ? await dropBody(exchange) : await readJson(exchange)
  return {
    body: route.body === null ? undefined : validated(route.body, body, 'body'),
    query: route.query === null ? {} : validated(route.query, queryOf(exchange), 'query'),
    params: route.params === null ? params : validated(route.params, params, 'params'),
  }
}

function queryOf({ request }: Exchange): AnswerFields {
  const url = request.url ?? ''
  const at = url.indexOf('?')
  return at === -1 ? {} : Object.fromEntries(new URLSearchParams(url.slice(at + 1)))
}
