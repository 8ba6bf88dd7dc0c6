import { respond } from '../response/custom-response.ts'
import { FileResponse } from '../response/file-response.ts'
import { CSS, HTML, JAVASCRIPT, pageRoutes, SVG } from '../response/page-files.ts'
import type { Route } from '../routing/declared-route.ts'
import { probe } from '../routing/route.ts'

const inFolder = (name: string) => new URL(`./public/${name}`, import.meta.url)

/**
 * Returns the routes of the OpenAPI document, which is created on its first request, and of the page that shows it, to which
 * `/` redirects.
 */
export function documentationRoutes(document: () => Promise<object>): readonly Route[] {
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
    ...pageRoutes([
      ['/docs', inFolder('index.html'), HTML],
      ['/docs/look.css', inFolder('look.css'), CSS],
      ['/docs/page.css', inFolder('page.css'), CSS],
      ['/docs/page.js', inFolder('page.js'), JAVASCRIPT],
      ['/docs/element.js', inFolder('element.js'), JAVASCRIPT],
      ['/docs/schema.js', inFolder('schema.js'), JAVASCRIPT],
      ['/docs/try-it.js', inFolder('try-it.js'), JAVASCRIPT],
      ['/docs/icon.svg', inFolder('icon.svg'), SVG],
    ]),
  ]
}

function textFile(text: string): FileResponse {
  return new FileResponse(Buffer.from(text), 'application/json; charset=utf-8')
}
