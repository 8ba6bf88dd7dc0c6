import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** One answer as it was on the wire. */
export interface RawAnswer {
  readonly status: number
  /** In the order in which they came. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** What came back for the bytes that were sent. */
export interface RawExchange {
  readonly answers: readonly RawAnswer[]
  /** Whether the server ended the connection. */
  readonly closed: boolean
}

type Piece = string | Buffer | number

/**
 * Sends exact bytes on a connection of its own (a number waits that many milliseconds) and gathers what comes back
 * until the server closes, or `answers` of them are whole, or nothing more comes within `quietMs`.
 */
export async function sendRaw(
  port: number,
  pieces: Piece | readonly Piece[],
  { answers = Infinity, quietMs = 1500, head = false } = {},
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
  while (!closed && parse(received, head).length < answers && Date.now() - changed < quietMs) await sleep(2)
  socket.destroy()
  return { answers: parse(received, head), closed }
}

async function put(socket: Socket, piece: Piece): Promise<void> {
  if (typeof piece === 'number') await sleep(piece)
  else if (socket.writable)
    await new Promise<void>((resolve) => socket.write(piece, 'latin1', () => resolve()))
}

function parse(text: string, head: boolean): RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let rest = text; ; ) {
    const taken = takeAnswer(rest, head)
    if (taken === null) return answers
    answers.push(taken.answer)
    rest = taken.rest
  }
}

/** The first answer of a text in latin1, and what follows it; null while it is not whole. One to HEAD has no body. */
export function takeAnswer(text: string, toHead: boolean): { answer: RawAnswer; rest: string } | null {
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
    answer: { status, headers, body: Buffer.from(body, 'latin1').toString() },
    rest: text.slice(end + 4 + length),
  }
}

/** An answer without what differs between any two: the request id and the date. */
export function comparable(answer: RawAnswer | undefined): {
  status: number | undefined
  headers: Record<string, string>
  body: unknown
} {
  const headers = Object.fromEntries(answer?.headers ?? [])
  for (const name of ['X-Request-Id', 'Date', 'Content-Length', 'Keep-Alive']) delete headers[name]
  const body = answer?.body ? JSON.parse(answer.body) : null
  if (body !== null) delete body.request_id
  return { status: answer?.status, headers, body }
}
