/** A typed client of declared routes, for Node and browsers: it loads no other module. */

export {
  type ApiClient,
  type ApiClientOptions,
  type ApiFailure,
  createApiClient,
} from '../adapters/http/client/api-client.ts'
export type { BuiltInApi } from '../adapters/http/routes/built-in-routes.ts'
export type { RouteTypes } from '../adapters/http/routing/route-types.ts'
