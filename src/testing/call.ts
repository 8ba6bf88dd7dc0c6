/** What a call sends beside its path. */
export interface CallOptions {
  /** POST where it is not given. */
  readonly method?: string
  /** Presented as bearer token; null for none. */
  readonly token?: string | null
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer with its body read as JSON; null where it has none, and its text where it is of another kind. */
export interface Called {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared field by field
  readonly body: any
}

/** Calls a service at its address, in whatever process it runs. */
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
  const { status, headers: responded } = response
  const text = await response.text()
  const isJson = /\bjson\b/.test(responded.get('content-type') ?? '')
  return { status, headers: responded, body: text === '' ? null : isJson ? JSON.parse(text) : text }
}
