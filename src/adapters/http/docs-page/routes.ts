import { respond } from '../response/custom-response.ts'
import { FileResponse } from '../response/file-response.ts'
import { pageRoutes } from '../response/page-files.ts'
import type { Route } from '../routing/declared-route.ts'
import { probe } from '../routing/route.ts'
import { type DocsPage, docsFiles } from './files.ts'

/**
 * Returns the routes of the OpenAPI document, which is created on its first request, and of the page that shows it, to which
 * `/` redirects. `page` replaces the default one; throws `RouteRefused` for a mistake in it.
 */
export function documentationRoutes(document: () => Promise<object>, page?: DocsPage): readonly Route[] {
  let cached: Promise<FileResponse> | null = null
  return [
    probe('GET /openapi.json', {
      handle() {
        cached ??= document().then(
          (content) => textFile(JSON.stringify(content)),
          (error) => {
            // The next request tries again.
            cached = null
            throw error
          },
        )
        return cached
      },
    }),
    probe('GET /', { handle: () => respond({ status: 302, headers: { Location: '/docs' } }) }),
    ...pageRoutes(docsFiles(page)),
  ]
}

function textFile(text: string): FileResponse {
  return new FileResponse(Buffer.from(text), 'application/json; charset=utf-8')
}
