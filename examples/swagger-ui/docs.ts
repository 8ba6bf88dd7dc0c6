import type { DocsPage } from 'latchkey'

const here = (name: string) => new URL(`page/${name}`, import.meta.url)
const inPackage = (name: string) => new URL(import.meta.resolve(`swagger-ui-dist/${name}`))

/** Swagger UI as the docs page. */
export const swaggerUi: DocsPage = {
  '/docs': here('index.html'),
  '/docs/icon.svg': here('icon.svg'),
  '/docs/page.css': here('page.css'),
  '/docs/start.js': here('start.js'),
  '/docs/swagger-ui.css': inPackage('swagger-ui.css'),
  '/docs/swagger-ui-bundle.js': inPackage('swagger-ui-bundle.js'),
}
