import { validateHeaderName, validateHeaderValue } from 'node:http'

/** Headers by name. A list is sent as several lines, as `Set-Cookie` needs it. */
export type ResponseHeaders = Readonly<Record<string, string | number | readonly string[]>>

/** Headers that only the service sets: framing, the contract of every response, and CORS. */
const RESERVED =
  /^(connection|content-length|date|keep-alive|server|trailer|transfer-encoding|upgrade|x-content-type-options|x-powered-by|x-request-id|access-control-.*)$/i

/**
 * Returns names and values in turn, as `node:http` takes them. `allowed` names a reserved header, in lower case, that this
 * response may set. Throws a `TypeError` for a reserved header, and node's error for an invalid name or value.
 */
export function headerList(headers: ResponseHeaders, allowed: string | null = null): readonly string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    validateHeaderName(name)
    if (RESERVED.test(name) && name.toLowerCase() !== allowed)
      throw new TypeError(`The service sets the header ${name} itself: remove it from headers.`)
    const values = Array.isArray(value) ? value : [value]
    return values.flatMap((one: unknown) => {
      validateHeaderValue(name, one as string)
      return [name, String(one)]
    })
  })
}
