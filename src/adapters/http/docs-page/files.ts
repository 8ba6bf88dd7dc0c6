import { existsSync, readdirSync } from 'node:fs'
import { CSS, HTML, JAVASCRIPT, type PageFile, SVG } from '../response/page-files.ts'
import { RouteRefused } from '../routing/declared-route.ts'

/** The files of a docs page by their path: `/docs` is the page itself, and its other files stand below `/docs/`. */
export type DocsPage = Readonly<Record<`/docs${string}`, URL>>

const TYPES: Readonly<Record<string, string>> = {
  html: HTML,
  css: CSS,
  js: JAVASCRIPT,
  mjs: JAVASCRIPT,
  json: 'application/json; charset=utf-8',
  svg: SVG,
  png: 'image/png',
  ico: 'image/x-icon',
}

const FOLDER = new URL('public/', import.meta.url)

/** Returns the files of the page with their media types. Throws `RouteRefused` for a mistake in a custom page. */
export function docsFiles(page: DocsPage = defaultPage()): readonly PageFile[] {
  if (page['/docs'] === undefined)
    throw new RouteRefused('docs needs the page itself, with the path "/docs".')
  return Object.entries(page).map(([path, file]) => {
    if (!/^\/docs(\/|$)/.test(path)) throw new RouteRefused(`docs: "${path}" is not below /docs.`)
    if (!existsSync(file)) throw new RouteRefused(`docs: ${file.pathname} does not exist.`)
    const type = TYPES[/\.(\w+)$/.exec(file.pathname)?.[1] ?? '']
    if (type === undefined) {
      const allowed = Object.keys(TYPES).join(', ')
      throw new RouteRefused(`docs: ${file.pathname} needs one of these extensions: ${allowed}.`)
    }
    return [path as `/${string}`, file, type]
  })
}

function defaultPage(): DocsPage {
  const names = readdirSync(FOLDER).filter((name) => name !== 'index.html')
  return {
    '/docs': new URL('index.html', FOLDER),
    ...Object.fromEntries(names.map((name) => [`/docs/${name}`, new URL(name, FOLDER)])),
  }
}
