/** The API for an implementer's program: the program, its routes, its database, and the types of handlers. */

export { readConfiguration } from '../adapters/config/read-configuration.ts'
export {
  ApiError,
  Forbidden,
  Gone,
  PreconditionFailed,
  type ThrownError,
  TooManyRequests,
} from '../adapters/http/api-error.ts'
export type { DocsPage } from '../adapters/http/docs-page/files.ts'
export { Conflict, NotFound } from '../adapters/http/errors.ts'
export type { FailureReason } from '../adapters/http/failure-reasons.ts'
export type { RequestContext } from '../adapters/http/request/request-context.ts'
export type { RequestLog } from '../adapters/http/request/request-log.ts'
export {
  type CustomResponse,
  type ResponseContent,
  respond,
} from '../adapters/http/response/custom-response.ts'
export { isoTime } from '../adapters/http/response/iso-time.ts'
export type { ResponseFields } from '../adapters/http/response/json-body.ts'
export type { ResponseHeaders } from '../adapters/http/response/response-headers.ts'
export { type StreamedList, streamed } from '../adapters/http/response/streamed-list.ts'
export type { MeResponse } from '../adapters/http/routes/built-in-routes.ts'
export { type ProfileFields, presentProfile, profile } from '../adapters/http/routes/profile.ts'
export {
  type Auth,
  type DeclaredResponse,
  type DeclaredResponses,
  type DurationText,
  type Method,
  type ObjectSchema,
  type RawBody,
  type Route,
  RouteRefused,
  type Schema,
} from '../adapters/http/routing/declared-route.ts'
export type { DeepReadonly } from '../adapters/http/routing/handler-types.ts'
export { route } from '../adapters/http/routing/route.ts'
export type { RoutePattern } from '../adapters/http/routing/route-pattern.ts'
export type { InferApi, TypedRoute } from '../adapters/http/routing/route-types.ts'
export type { Configuration } from '../application/configuration.ts'
export { createDeadline, type Deadline } from '../application/deadline.ts'
export {
  type Database,
  type DatabaseContext,
  type DatabaseSettings,
  DatabaseUnusable,
  type OpenDatabase,
  type Role,
} from '../application/ports/database.ts'
export type { Requester } from '../application/requester.ts'
export type { Caller } from '../application/use-cases/authenticate.ts'
export type { Profile } from '../application/use-cases/me.ts'
export type { UseCases } from '../application/use-cases/use-cases.ts'
export type { AdapterOverrides } from '../composition/adapters.ts'
export type { OpenPostgres } from '../composition/open-postgres.ts'
export { postgresDatabase } from '../composition/postgres-database.ts'
export { type Service, startService } from '../composition/service.ts'
export type { ServiceHooks } from '../composition/service-hooks.ts'
export type { ServiceOptions } from '../composition/service-options.ts'
export type { Customer } from '../domain/customer.ts'
export {
  type FieldDetail,
  type FieldErrors,
  InsufficientScope,
  LatchkeyError,
  LoginTokenRequired,
  TooManyLogins,
  Unavailable,
  ValidationFailed,
} from '../domain/errors.ts'
export type { LoginToken, OwnedToken } from '../domain/login-token.ts'
export { type CheckResult, type CheckState, checkFailed, checkPassed } from '../lib/check-result.ts'
export { type Composition, runProgram } from '../program/program.ts'
