import { request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { printable } from '../printable.ts'
import { Refusal } from '../refusal.ts'

const RESPONSE_TIMEOUT_MS = 10_000
/** No response of these endpoints is nearly as long. */
const MAX_BYTES = 1_048_576

/** A response in the common envelope. */
export interface SmokeResponse {
  readonly status: number
  /** The failure's reason; null for a success. */
  readonly reason: string | null
  readonly body: Readonly<Record<string, unknown>>
  /** When the request was sent, by the monotonic clock, and how long the response took; both in milliseconds. */
  readonly sentMs: number
  readonly tookMs: number
}

/** Posts to a deployment on a new connection. Throws `Refusal` when the response is not Latchkey's. */
export async function post(
  base: URL,
  path: string,
  { token, body }: { readonly token?: string; readonly body?: object } = {},
): Promise<SmokeResponse> {
  const sentMs = performance.now()
  const { status, type, text } = await exchange(new URL(base.href.replace(/\/+$/, '') + path), token, body)
  const envelope = parseEnvelope(text)
  if (envelope === null)
    throw new Refusal(
      `${base.href} is no Latchkey: it responded to POST ${path} with ${status} and ${printable(type)}, not with its JSON.`,
    )
  const reason = envelope.success === true ? null : String(envelope.reason)
  return { status, reason, body: envelope, sentMs, tookMs: performance.now() - sentMs }
}

function exchange(
  url: URL,
  token: string | undefined,
  body: object | undefined,
): Promise<{ status: number; type: string; text: string }> {
  const send = url.protocol === 'https:' ? overHttps : overHttp
  const headers = {
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  }
  const text = body === undefined ? '' : JSON.stringify(body)
  const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS)
  return new Promise((resolve, reject) => {
    // Without an agent every request opens a new connection, which a load balancer may route to any instance.
    const sent = send(url, { method: 'POST', headers, agent: false, signal }, (response) => {
      let received = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        received += part
        if (received.length > MAX_BYTES) response.destroy(new Error('the response is too long'))
      })
      response.once('error', failed)
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          type: response.headers['content-type'] ?? 'no type',
          text: received,
        }),
      )
    })
    sent.once('error', failed)
    sent.end(text)

    function failed(error: Error): void {
      reject(new Refusal(describeFault(url, error)))
    }
  })
}

function parseEnvelope(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value = JSON.parse(text)
    const isEnvelope =
      value?.success === true || (value?.success === false && typeof value.reason === 'string')
    return isEnvelope ? value : null
  } catch {
    return null
  }
}

function describeFault({ origin, host, protocol }: URL, error: Error): string {
  // When a name has several addresses, node reports an AggregateError without a message.
  const first = error instanceof AggregateError && error.errors.length > 0 ? error.errors[0] : error
  const code = 'code' in first ? String(first.code) : ''
  if (code === 'ABORT_ERR') return `${origin} did not respond within ${RESPONSE_TIMEOUT_MS / 1000} s.`
  if (code === 'ECONNREFUSED') return `${origin} refuses the connection: nothing listens there.`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `${host} cannot be found: check the name.`
  if (/CERT|SELF_SIGNED|VERIFY|ERR_TLS/.test(code))
    return `The certificate of ${origin} is not trusted: ${printable(first.message)}. NODE_EXTRA_CA_CERTS=/path/to/ca.pem names a private authority.`
  if (protocol === 'https:' && /EPROTO|ERR_SSL/.test(code))
    return `${origin} does not speak TLS: is it http:// instead?`
  return `${origin} cannot be reached: ${printable(first.message || code)}.`
}
