import { FileResponse } from '../response/file-response.ts'
import { CSS, HTML, JAVASCRIPT, pageRoutes, SVG } from '../response/page-files.ts'
import type { Route } from '../routing/declared-route.ts'
import { probe } from '../routing/route.ts'

const inFolder = (name: string) => new URL(`../../../../docs-page/${name}`, import.meta.url)

/** The document, made when it is first asked for, and the page that shows it, under a policy of its own origin. */
export function documentationRoutes(document: () => Promise<object>): readonly Route[] {
  let made: Promise<FileResponse> | null = null
  return [
    probe('GET /openapi.json', {
      handle() {
        made ??= document().then(
          (content) => textFile(JSON.stringify(content)),
          (error) => {
            // The next is to try it again.
            made = null
            throw error
          },
        )
        return made
      },
    }),
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
