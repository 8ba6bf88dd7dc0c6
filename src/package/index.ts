/** What an implementer's program is written with: the program, its routes, its database, and what handlers meet. */
export type { Configuration } from '../adapters/config/configuration.ts'
export { readConfiguration } from '../adapters/config/read-configuration.ts'
export type { AnswerFields } from '../adapters/http/answer-text.ts'
export { type MeAnswer, profile } from '../adapters/http/built-in-routes.ts'
export type { RequestContext } from '../adapters/http/context.ts'
export {
  type Auth,
  type Method,
  type ObjectSchema,
  type Route,
  RouteRefused,
  type Schema,
} from '../adapters/http/declared-route.ts'
export { Conflict, type FailureReason, NotFound } from '../adapters/http/errors.ts'
export type { RequestLog } from '../adapters/http/request-log.ts'
export { type Readable, type RoutePattern, route } from '../adapters/http/route.ts'
export { type StreamedList, streamed } from '../adapters/http/streamed-list.ts'
export type { Caller } from '../application/authenticate.ts'
export { type Finding, type FindingState, fault, fine } from '../application/finding.ts'
export type { Latchkey } from '../application/latchkey.ts'
export { isoTime, me, type Profile } from '../application/me.ts'
export { type Patience, patienceOf } from '../application/patience.ts'
export type { Requester } from '../application/requester.ts'
export {
  type Backend,
  BackendRefused,
  type OpenBackend,
  type Role,
  type Surroundings,
} from '../backend.ts'
export type { Customer } from '../domain/customer.ts'
export {
  type FieldErrors,
  InsufficientScope,
  LatchkeyError,
  LoginTokenRequired,
  TooManyRequests,
  Unavailable,
  ValidationFailed,
} from '../domain/errors.ts'
export type { LoginToken, OwnedToken } from '../domain/login-token.ts'
export type { ChosenAdapters } from '../ports-on.ts'
export { postgresBackend, postgresBackendWith } from '../postgres-backend.ts'
export { type Composition, runProgram } from '../program.ts'
export { type Service, type ServiceOptions, startService } from '../service.ts'
