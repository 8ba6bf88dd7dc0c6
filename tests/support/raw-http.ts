import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** One response, as it was on the wire. */
export interface RawResponse {
  readonly status: number
  /** In the order of arrival. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** The responses to the bytes that were sent. */
export interface RawExchange {
  readonly responses: readonly RawResponse[]
  /** Whether the server closed the connection. */
  readonly closed: boolean
}

type Piece = string | Buffer | number

/**
 * Sends exact bytes on a new connection. A number waits that many milliseconds. Collects the responses until the server
 * closes the connection, `responses` responses are complete, or no byte arrives within `quietMs`.
 */
export async function sendRaw(
  port: number,
  pieces: Piece | readonly Piece[],
  { responses = Infinity, quietMs = 1500, head = false } = {},
): Promise<RawExchange> {
  const socket = connect(port, '127.0.0.1')
  let received = ''
  let closed = false
  let changed = Date.now()
  socket.setEncoding('latin1')
  socket.on('data', (text) => {
    received += text
    changed = Date.now()
  })
  socket.on('end', () => {
    closed = true
  })
  socket.on('error', () => {
    closed = true
  })
  socket.on('close', () => {
    closed = true
  })
  for (const piece of Array.isArray(pieces) ? pieces : [pieces]) await put(socket, piece)
  changed = Date.now()
  while (!closed && parse(received, head).length < responses && Date.now() - changed < quietMs) await sleep(2)
  socket.destroy()
  return { responses: parse(received, head), closed }
}

async function put(socket: Socket, piece: Piece): Promise<void> {
  if (typeof piece === 'number') await sleep(piece)
  else if (socket.writable)
    await new Promise<void>((resolve) => socket.write(piece, 'latin1', () => resolve()))
}

function parse(text: string, head: boolean): RawResponse[] {
  const responses: RawResponse[] = []
  for (let rest = text; ; ) {
    const taken = takeResponse(rest, head)
    if (taken === null) return responses
    responses.push(taken.response)
    rest = taken.rest
  }
}

/**
 * Parses the first response of a latin1 text. Returns it and the rest, or null while it is incomplete. A response to
 * HEAD has no body.
 */
export function takeResponse(text: string, toHead: boolean): { response: RawResponse; rest: string } | null {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return null
  const [line = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = lines.map((header) => {
    const colon = header.indexOf(':')
    return [header.slice(0, colon), header.slice(colon + 1).trim()] as const
  })
  const length = toHead
    ? 0
    : Number(headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? 0)
  const body = text.slice(end + 4, end + 4 + length)
  if (body.length < length) return null
  const status = Number(line.split(' ')[1])
  return {
    response: { status, headers, body: Buffer.from(body, 'latin1').toString() },
    rest: text.slice(end + 4 + length),
  }
}

/** Returns a response without the headers and fields that differ each time, such as the request id and the date. */
export function comparable(response: RawResponse | undefined): {
  status: number | undefined
  headers: Record<string, string>
  body: unknown
} {
  const headers = Object.fromEntries(response?.headers ?? [])
  for (const name of ['X-Request-Id', 'Date', 'Content-Length', 'Keep-Alive']) delete headers[name]
  const body = response?.body ? JSON.parse(response.body) : null
  if (body !== null) delete body.request_id
  return { status: response?.status, headers, body }
}
