let secret = ''

/** The service refused the request. `reason` is that of the response, `message` its sentence. */
export class Refused extends Error {
  constructor(status, { reason, error = `The service responded with ${status}.` }) {
    super(error)
    this.status = status
    this.reason = reason
  }
}

/** Sets the token. It is stored nowhere else, so it is lost when the page closes. */
export function useToken(token) {
  secret = token
}

/** Returns the fields of the response. Throws `Refused` for a failure, and the browser's error without a response. */
export async function ask(path, body) {
  const response = await fetch(`ops/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      Authorization: `Bearer ${secret}`,
      'X-Requested-With': 'ops-page',
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    cache: 'no-store',
    redirect: 'error',
    signal: AbortSignal.timeout(10_000),
  })
  const fields = await response.json().catch(() => ({}))
  if (response.ok) return fields
  throw new Refused(response.status, fields)
}
