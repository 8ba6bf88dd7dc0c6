import { readFileSync } from 'node:fs'
import type { Route } from '../routing/declared-route.ts'
import { probe } from '../routing/route.ts'
import { FileResponse } from './file-response.ts'

/** A file of a page: its path, its location on disk, and its media type. */
export type PageFile = readonly [path: `/${string}`, location: URL, contentType: string]

export const HTML = 'text/html; charset=utf-8'
export const CSS = 'text/css; charset=utf-8'
export const JAVASCRIPT = 'text/javascript; charset=utf-8'
export const SVG = 'image/svg+xml'

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

/** Returns the routes of a page's files, with a content security policy. Only the listed files are served. */
export function pageRoutes(files: readonly PageFile[]): readonly Route[] {
  return files.map(([path, location, contentType]) => {
    const file = new FileResponse(readFileSync(location), contentType, [
      'Content-Security-Policy',
      POLICY,
      'Referrer-Policy',
      'no-referrer',
    ])
    return probe(`GET ${path}`, { handle: () => file })
  })
}
