import { pageRoutes } from '../response/page-files.ts'
import type { Route } from '../routing/declared-route.ts'

const inFolder = (name: string) => new URL(`./public/${name}`, import.meta.url)
/** Returns a file that both pages use. */
const inDocsPage = (name: string) => new URL(`../docs-page/public/${name}`, import.meta.url)

/** Returns the routes of the operator's page. Its files are public, because they contain nothing secret. */
export function opsPage(): readonly Route[] {
  return pageRoutes([
    ['/ops', inFolder('index.html')],
    ['/ops/page.css', inFolder('page.css')],
    ['/ops/page.js', inFolder('page.js')],
    ['/ops/service.js', inFolder('service.js')],
    ['/ops/charts.js', inFolder('charts.js')],
    ['/ops/chart-list.js', inFolder('chart-list.js')],
    ['/ops/customer.js', inFolder('customer.js')],
    ['/ops/events.js', inFolder('events.js')],
    ['/ops/instances.js', inFolder('instances.js')],
    ['/ops/verifiers.js', inFolder('verifiers.js')],
    ['/ops/verdict.js', inFolder('verdict.js')],
    ['/ops/look.css', inDocsPage('look.css')],
    ['/ops/element.js', inDocsPage('element.js')],
    ['/ops/icon.svg', inDocsPage('icon.svg')],
    ['/ops/uplot.js', new URL(import.meta.resolve('uplot/dist/uPlot.iife.min.js'))],
    ['/ops/uplot.css', new URL(import.meta.resolve('uplot/dist/uPlot.min.css'))],
  ])
}
