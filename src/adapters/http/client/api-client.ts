import type { FieldDetail, FieldErrors } from '../../../domain/errors.ts'
import type { RouteTypes } from '../routing/route-types.ts'

/** The options of a client. */
export interface ApiClientOptions {
  /** The base URL without a trailing slash; empty for the origin of the page. */
  readonly url: string
  /** Returns the token of the next request. Default: none is sent. */
  readonly token?: () => string | null
  /** Sends the requests. Default: `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** Calls a route by its pattern, such as `GET /orders/:id`. Rejects without a response of the service. */
export type ApiClient<Api extends Readonly<Record<keyof Api, RouteTypes>>> = <Pattern extends keyof Api>(
  pattern: Pattern,
  ...call: Nothing extends Call<Api[Pattern]> ? [call?: Call<Api[Pattern]>] : [call: Call<Api[Pattern]>]
) => Promise<ApiSuccess<Api[Pattern]['success']> | ApiFailure<Api[Pattern]['reason']>>

type Call<Types extends RouteTypes> = Part<'params', Types['params']> &
  Part<'query', Types['query']> &
  ([Types['body']] extends [undefined] ? { readonly body?: never } : { readonly body: Types['body'] }) & {
    readonly headers?: Readonly<Record<string, string>>
    readonly signal?: AbortSignal
  }

type Nothing = Record<never, never>

/** A part of a request, which may be left out if all of it may. */
type Part<Name extends string, T> = Nothing extends T
  ? { readonly [N in Name]?: T }
  : { readonly [N in Name]: T }

/** A success, with the JSON as `data`, or null for a response that is not JSON: its body is not yet read. */
type ApiSuccess<Success> = Success extends object
  ? Success & { readonly ok: true; readonly response: Response }
  : never

/** A refusal, with the JSON as `failure`. */
export interface ApiFailure<Reason extends string = string> {
  readonly ok: false
  readonly status: number
  readonly failure: {
    readonly success: false
    readonly code: number
    /** A sentence that is safe to display. */
    readonly error: string
    readonly reason: Reason
    readonly request_id: string
    readonly errors?: FieldErrors
    readonly details?: readonly FieldDetail[]
  }
  readonly response: Response
}

interface AnyCall {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/**
 * Creates a client of the routes `Api`, which `InferApi` infers from their declarations. A JSON body is serialized; a `Blob`
 * is sent unchanged with its type.
 */
export function createApiClient<Api extends Readonly<Record<keyof Api, RouteTypes>>>({
  url,
  token = () => null,
  fetch = globalThis.fetch,
}: ApiClientOptions): ApiClient<Api> {
  async function call(pattern: string, { params, query, body, headers, signal }: AnyCall = {}) {
    const [method = '', path = ''] = pattern.split(' ')
    const secret = token()
    const response = await fetch(`${url}/api${fillIn(path, params)}${search(query)}`, {
      method,
      headers: {
        ...(secret === null ? {} : { Authorization: `Bearer ${secret}` }),
        ...(body === undefined || body instanceof Blob ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: body instanceof Blob ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
    const { status } = response
    const isJson = /\bjson\b/.test(response.headers.get('Content-Type') ?? '')
    if (status < 400) return { ok: true, status, data: isJson ? await response.json() : null, response }
    const failure: unknown = isJson ? await response.json() : await response.body?.cancel()
    if (isFailure(failure)) return { ok: false, status, failure, response }
    throw new Error(`${pattern}: the response of status ${status} is not of the service.`)
  }
  return call as ApiClient<Api>
}

function isFailure(json: unknown): json is ApiFailure['failure'] {
  return typeof json === 'object' && json !== null && 'success' in json && json.success === false
}

function fillIn(path: string, params: AnyCall['params'] = {}): string {
  return path.replace(/:(\w+)/g, (_, name: string) => {
    const value = params[name] ?? ''
    // URLs resolve dots as segments, encoded ones too: the request would go to another route.
    if (/^\.{0,2}$/.test(value)) throw new RangeError(`The parameter ${name} must not be empty or dots.`)
    return encodeURIComponent(value)
  })
}

function search(query: AnyCall['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (value === undefined ? [] : [value].flat()).map((text): [string, string] => [name, text]),
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}
