import { tokenFor } from './authorise.js'
import { fillPath } from './request.js'

/** Without a timeout, a form could wait forever and could not be sent again. */
const TIMEOUT_MS = 60_000

/** Calls the operation and reads the whole response. Rejects when the service does not respond. */
export async function send({ method, path, parameters, scheme }, valuesFor, body) {
  const token = scheme === null ? '' : tokenFor(scheme)
  const target = fillPath(path, parameters, valuesFor)
  const beganMs = performance.now()
  // The origin of this page, whatever address the document has: nothing is sent elsewhere.
  const response = await fetch(new URL(target.slice(1), new URL('.', location.href)), {
    method: method.toUpperCase(),
    headers: {
      ...(token === '' ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === null ? {} : { 'Content-Type': body.type }),
    },
    body: body === null ? undefined : body.content,
    credentials: 'omit',
    cache: 'no-store',
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const content = await response.blob()
  return { response, content, path: target, tookMs: performance.now() - beganMs }
}
