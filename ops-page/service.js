let secret = ''

/** The service refused: `message` is its sentence. */
export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence)
    this.status = status
  }
}

/** The token goes with the page: it is kept in no storage. */
export function useToken(token) {
  secret = token
}

/** The fields of an answer; throws `Refused` for a failure that was answered, and the browser's error for silence. */
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
  const answer = await response.json().catch(() => ({}))
  if (response.ok) return answer
  throw new Refused(response.status, answer.error ?? `The service answered ${response.status}.`)
}
