import { CSS, HTML, JAVASCRIPT, pageRoutes, SVG } from '../response/page-files.ts'
import type { Route } from '../routing/declared-route.ts'

const own = (name: string) => new URL(`../../../../ops-page/${name}`, import.meta.url)
/** Files that both pages use. */
const shared = (name: string) => new URL(`../../../../docs-page/${name}`, import.meta.url)

/** Returns the routes of the operator's page. Its files are public, because they contain nothing secret. */
export function opsPage(): readonly Route[] {
  return pageRoutes([
    ['/ops', own('index.html'), HTML],
    ['/ops/page.css', own('page.css'), CSS],
    ['/ops/page.js', own('page.js'), JAVASCRIPT],
    ['/ops/service.js', own('service.js'), JAVASCRIPT],
    ['/ops/charts.js', own('charts.js'), JAVASCRIPT],
    ['/ops/chart-list.js', own('chart-list.js'), JAVASCRIPT],
    ['/ops/customer.js', own('customer.js'), JAVASCRIPT],
    ['/ops/look.css', shared('look.css'), CSS],
    ['/ops/element.js', shared('element.js'), JAVASCRIPT],
    ['/ops/icon.svg', shared('icon.svg'), SVG],
    ['/ops/uplot.js', new URL(import.meta.resolve('uplot/dist/uPlot.iife.min.js')), JAVASCRIPT],
    ['/ops/uplot.css', new URL(import.meta.resolve('uplot/dist/uPlot.min.css')), CSS],
  ])
}
