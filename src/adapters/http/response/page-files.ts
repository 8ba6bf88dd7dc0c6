import { readFileSync } from 'node:fs'
import type { Route } from '../routing/declared-route.ts'
import { probe } from '../routing/route.ts'
import { FileResponse } from './file-response.ts'

/** A file of a page: where it is served, where it lies, and its media type. */
export type PageFile = readonly [path: `/${string}`, place: URL, contentType: string]

export const HTML = 'text/html; charset=utf-8'
export const CSS = 'text/css; charset=utf-8'
export const JAVASCRIPT = 'text/javascript; charset=utf-8'
export const SVG = 'image/svg+xml'

/** Nothing from elsewhere, nothing written into the page, and no text that becomes a script. */
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

/** The files of a page, under a policy of their own origin: what is not in this list is not served. */
export function pageRoutes(files: readonly PageFile[]): readonly Route[] {
  return files.map(([path, place, contentType]) => {
    const file = new FileResponse(readFileSync(place), contentType, [
      'Content-Security-Policy',
      POLICY,
      'Referrer-Policy',
      'no-referrer',
    ])
    return probe(`GET ${path}`, { handle: () => file })
  })
}
