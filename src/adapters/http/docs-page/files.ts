import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { PageFile } from '../response/page-files.ts'
import { RouteRefused } from '../routing/declared-route.ts'

/** The files of a docs page by their path: `/docs` is the page itself, and the other paths begin with `/docs/`. */
export type DocsPage = Readonly<Record<'/docs', URL> & Record<`/docs/${string}`, URL>>

const FOLDER = new URL('public/', import.meta.url)

/** Returns the files of the page. Throws `RouteRefused` for a wrong path and for a missing file. */
export function docsFiles(page: DocsPage = defaultPage()): readonly PageFile[] {
  if (page['/docs'] === undefined)
    throw new RouteRefused('docs needs the page itself, with the path "/docs".')
  return Object.entries(page).map(([path, file]) => {
    if (!/^\/docs(\/|$)/.test(path)) throw new RouteRefused(`docs: "${path}" is not below /docs.`)
    if (!existsSync(file)) throw new RouteRefused(`docs: ${locationName(file)} does not exist.`)
    return [path as `/${string}`, file]
  })
}

function locationName(file: URL): string {
  return file.protocol === 'file:' ? fileURLToPath(file) : file.href
}

function defaultPage(): DocsPage {
  const names = readdirSync(FOLDER).filter((name) => name !== 'index.html')
  return {
    '/docs': new URL('index.html', FOLDER),
    ...Object.fromEntries(names.map((name) => [`/docs/${name}`, new URL(name, FOLDER)])),
  }
}
