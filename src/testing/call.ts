/** The parts of a request besides its path. */
export interface CallOptions {
  /** POST by default. */
  readonly method?: string
  /** The bearer token; null, the default, for none. */
  readonly token?: string | null
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: unknown
  /** Further headers of the request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A response. `body` is parsed JSON, the text of another content type, or null without a body. */
export interface Called {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: responses are compared field by field
  readonly body: any
}

/** Calls a service at the address `url`, in this process or another; returns its response. Rejects as `fetch` does. */
export async function callAt(
  url: string,
  path: string,
  { method = 'POST', token = null, body, headers = {} }: CallOptions = {},
): Promise<Called> {
  const sent = new Headers({
    ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  })
  for (const [name, value] of Object.entries(headers)) sent.set(name, value)
  const response = await fetch(url + path, {
    method,
    headers: sent,
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const { status, headers: responseHeaders } = response
  const text = await response.text()
  const isJson = /\bjson\b/.test(responseHeaders.get('content-type') ?? '')
  return { status, headers: responseHeaders, body: text === '' ? null : isJson ? JSON.parse(text) : text }
}
