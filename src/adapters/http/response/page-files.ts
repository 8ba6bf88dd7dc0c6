import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { declareRoute, type Route, RouteRefused } from '../routing/declared-route.ts'
import { FileResponse } from './file-response.ts'

/** A file of a page: its path, and its location on disk. */
export type PageFile = readonly [path: `/${string}`, location: URL]

/** The media types by extension. */
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
}

/** Allows nothing from other origins, nothing inline, and no text as a script. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/**
 * Returns the routes of a page's files, with a content security policy. Only the listed files are served. Throws
 * `RouteRefused` for a file without a known extension.
 */
export function pageRoutes(files: readonly PageFile[]): readonly Route[] {
  return files.map(([path, location]) => {
    const type = mediaType(path, location)
    const file = new FileResponse(readFileSync(location), type, [
      'Content-Security-Policy',
      POLICY,
      'Referrer-Policy',
      'no-referrer',
    ])
    const isPageAsset = type !== TYPES.html
    return declareRoute('', `GET ${path}`, { auth: 'none', isPageAsset, handle: () => file })
  })
}

function mediaType(path: string, location: URL): string {
  const type = TYPES[/\.(\w+)$/.exec(location.pathname)?.[1] ?? '']
  if (type !== undefined) return type
  const allowed = Object.keys(TYPES).join(', ')
  throw new RouteRefused(`${path}: ${fileURLToPath(location)} needs one of these extensions: ${allowed}.`)
}
