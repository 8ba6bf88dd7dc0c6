import type { DocsPage } from '../adapters/http/docs-page/files.ts'
import type { MeResponse } from '../adapters/http/routes/built-in-routes.ts'
import type { ObjectSchema, Route } from '../adapters/http/routing/declared-route.ts'
import type { Configuration } from '../application/configuration.ts'
import type { OpenDatabase } from '../application/ports/database.ts'
import type { UseCases } from '../application/use-cases/use-cases.ts'

/** The options of the route table. */
export interface RoutesOptions<
  Me extends ObjectSchema = ObjectSchema,
  Open extends OpenDatabase = OpenDatabase,
> {
  readonly configuration: Configuration
  /** The title of the API in its documentation. Default: `API`. */
  readonly title?: string
  /** The description of the API, before the one of the responses. */
  readonly description?: string
  /**
   * A custom page in place of the docs page: its files by path. `/docs` is its HTML. The files are served under the same
   * Content-Security-Policy. `DOCS=off` disables them.
   */
  readonly docs?: DocsPage
  /** The version of the program, reported when none is configured. */
  readonly version: string
  /**
   * Custom routes, beside the built-in ones, declared once the database is open. The commands `routes` and `openapi` declare
   * them too, without a database: there, every property of the arguments can be read, and none can be called.
   */
  routes?(useCases: UseCases, database: Open): readonly Route[]
  /** The response of `me`. Default: the customer and the token, without secrets. */
  readonly me?: MeResponse<Me>
}
