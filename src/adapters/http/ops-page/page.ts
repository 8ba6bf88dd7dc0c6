import { CSS, HTML, JAVASCRIPT, pageRoutes, SVG } from '../response/page-files.ts'
import type { Route } from '../routing/declared-route.ts'

const inFolder = (name: string) => new URL(`./public/${name}`, import.meta.url)
/** Returns a file that both pages use. */
const inDocsPage = (name: string) => new URL(`../docs-page/public/${name}`, import.meta.url)

/** Returns the routes of the operator's page. Its files are public, because they contain nothing secret. */
export function opsPage(): readonly Route[] {
  return pageRoutes([
    ['/ops', inFolder('index.html'), HTML],
    ['/ops/page.css', inFolder('page.css'), CSS],
    ['/ops/page.js', inFolder('page.js'), JAVASCRIPT],
    ['/ops/service.js', inFolder('service.js'), JAVASCRIPT],
    ['/ops/charts.js', inFolder('charts.js'), JAVASCRIPT],
    ['/ops/chart-list.js', inFolder('chart-list.js'), JAVASCRIPT],
    ['/ops/customer.js', inFolder('customer.js'), JAVASCRIPT],
    ['/ops/look.css', inDocsPage('look.css'), CSS],
    ['/ops/element.js', inDocsPage('element.js'), JAVASCRIPT],
    ['/ops/icon.svg', inDocsPage('icon.svg'), SVG],
    ['/ops/uplot.js', new URL(import.meta.resolve('uplot/dist/uPlot.iife.min.js')), JAVASCRIPT],
    ['/ops/uplot.css', new URL(import.meta.resolve('uplot/dist/uPlot.min.css')), CSS],
  ])
}
