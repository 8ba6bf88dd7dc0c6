import type { Deadline } from '../../../application/deadline.ts'
import type { Log } from '../../../application/ports/log.ts'
import type { Caller } from '../../../application/use-cases/authenticate.ts'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import { Unavailable } from '../../../domain/errors.ts'
import { andThen, isPromise, type MaybePromise } from '../../../lib/maybe-promise.ts'
import { DeadlinePassed } from '../errors.ts'
import { basicCredentials, bearerToken, serviceToken } from '../request/bearer-token.ts'
import { type AnyCaller, Context, type HandlerServices, type RequestInput } from '../request/context.ts'
import { readInput } from '../request/input.ts'
import { sendSuccess } from '../response/response.ts'
import { sendResponse } from '../response/send-response.ts'
import type { Exchange } from '../server/exchange.ts'
import { limitArrival } from '../server/limit-arrival.ts'
import { checkRequest } from '../server/request-checks.ts'
import type { Route } from './declared-route.ts'
import { createFailureHandler, type FailureReports } from './failure-handler.ts'
import type { Router } from './router.ts'

const ANONYMOUS: AnyCaller = {}

/** Handles one request up to its response. Never throws. */
export type Dispatch = (exchange: Exchange) => void

/** The options of the dispatch. */
export interface DispatchOptions extends FailureReports {
  /** The time in which a request must arrive, in milliseconds, when its route sets none; null when no route sets one. */
  readonly requestTimeoutMs: number | null
  /** Whether customers may present a token with the scheme `Token`. */
  readonly hasTokenScheme: boolean
  /** Called with a request that has not arrived in time. */
  readonly onLate: (exchange: Exchange) => void
}

/** Creates the dispatch: the steps of a request in order. A step whose result is available runs synchronously. */
export function createDispatch(
  router: Router,
  useCases: UseCases,
  log: Log,
  { requestTimeoutMs, onLate, hasTokenScheme, ...reports }: DispatchOptions,
): Dispatch {
  const fail = createFailureHandler(log, reports)
  const services: HandlerServices = { log, useCases }

  return function dispatch(exchange) {
    try {
      const responding = respond(exchange)
      if (isPromise(responding)) responding.catch((error: unknown) => fail(exchange, error))
    } catch (error) {
      fail(exchange, error)
    }
  }

  function respond(exchange: Exchange): MaybePromise<void> {
    const { request } = exchange
    const refused = checkRequest(request, exchange.head)
    if (refused !== null) throw refused
    const match = router(request.method ?? '', request.url ?? '')
    if (match.kind === 'options') return sendSuccess(exchange, 204, undefined, ['Allow', match.allow])
    const { route, params } = match
    exchange.route = route.path
    exchange.isOAuth = route.isOAuth
    exchange.span?.match(route.path)
    if (route.bodyLimitBytes !== null) exchange.bodyLimitBytes = route.bodyLimitBytes
    if (route.deadlineMs !== null) startDeadline(exchange, route.deadlineMs)
    if (requestTimeoutMs !== null && !exchange.isWhole)
      limitArrival(exchange, route.requestTimeoutMs ?? requestTimeoutMs, onLate)

    const deadline = useCases.deadline()
    return andThen(authenticateCaller(route, exchange, deadline), (caller) => {
      if (route.freshMs !== null) useCases.requireFresh(caller as Caller, route.freshMs)
      return andThen(readInput(route, exchange, params), (input) => {
        if (!exchange.bodyWasLate) return handle(route, exchange, deadline, caller, input)
        // A token may have been revoked while its client was still sending the body.
        return andThen(authenticateCaller(route, exchange, deadline), (caller) =>
          handle(route, exchange, deadline, caller, input),
        )
      })
    })
  }

  function handle(
    route: Route,
    exchange: Exchange,
    deadline: Deadline,
    caller: AnyCaller,
    input: RequestInput,
  ): MaybePromise<void> {
    // After a 503 the client may retry, so the handler must not run.
    if (exchange.responded) return
    const handling = route.handle(new Context(caller, input, exchange, deadline, services) as never)
    if (input.bodyFailed !== null) refuseLateBody(exchange, input.bodyFailed)
    return andThen(handling, (result) => sendResponse(exchange, route, result, reauthenticate))
  }

  /** Responds with the failure of a streamed body, which its handler may never notice. */
  function refuseLateBody(exchange: Exchange, failed: Promise<never>): void {
    failed.catch((error: Error) => {
      fail(exchange, error)
      exchange.cancel(error)
    })
  }

  function reauthenticate(route: Route, exchange: Exchange): MaybePromise<AnyCaller> {
    return authenticateCaller(route, exchange, useCases.deadline())
  }

  function authenticateCaller(route: Route, exchange: Exchange, deadline: Deadline): MaybePromise<AnyCaller> {
    const { authorization } = exchange.head
    const authenticate = route.settlesRefusals ? useCases.authenticateForLogout : useCases.authenticate
    switch (route.auth) {
      case 'customer':
        return andThen(
          authenticate(bearerToken(authorization, hasTokenScheme), deadline, exchange),
          (caller) => {
            if (route.abilities.length > 0) useCases.authorize(caller, route.abilities, exchange)
            return caller
          },
        )
      case 'service':
        return {
          service: useCases.verifyServiceToken(
            (route.isOAuth ? basicCredentials(authorization) : null) ?? serviceToken(authorization),
            route.scopes,
            exchange,
          ),
        }
      case 'none':
        return ANONYMOUS
    }
  }

  function startDeadline(exchange: Exchange, deadlineMs: number): void {
    const timer = setTimeout(() => {
      if (exchange.responded && !exchange.streams) return
      const late = new Unavailable({ cause: new DeadlinePassed(deadlineMs) })
      fail(exchange, late)
      exchange.cancel(late)
      // A partly sent list cannot become a failure, and its producer may ignore the signal.
      if (exchange.streams) exchange.breakOff()
    }, deadlineMs)
    exchange.response.once('close', () => clearTimeout(timer))
  }
}
