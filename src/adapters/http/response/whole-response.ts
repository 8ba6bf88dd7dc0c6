import { type ServerResponse, STATUS_CODES, validateHeaderValue } from 'node:http'
import type { Exchange } from '../server/exchange.ts'

/** Two fields of node's response, without documentation. `_header` is null until the head is written. */
type NodeResponse = ServerResponse & { _header: string | null; _headerSent: boolean }

/** The heads of one server's JSON responses, prepared once a second for each status. */
export class ResponseHeads {
  readonly #byStatus = new Map<number, string>()
  readonly #fields: string
  /** The value of `Keep-Alive`: how long an idle connection stays open. */
  readonly keepAlive: string
  #second = 0

  /** `fields` are the names and values that every JSON response has. */
  constructor(fields: readonly string[], keepAliveTimeoutMs: number) {
    this.#fields = toLines(fields)
    this.keepAlive = `timeout=${Math.floor(keepAliveTimeoutMs / 1000)}`
  }

  /** Returns the head without the fields that depend on the body or the request. */
  begin(status: number): string {
    const nowMs = Date.now()
    const second = Math.floor(nowMs / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#byStatus.clear()
    }
    return this.#byStatus.get(status) ?? this.#prepare(status, nowMs)
  }

  #prepare(status: number, nowMs: number): string {
    const date = new Date(nowMs).toUTCString()
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n${this.#fields}Date: ${date}\r\nConnection: keep-alive\r\nKeep-Alive: ${this.keepAlive}\r\n`
    this.#byStatus.set(status, head)
    return head
  }
}

/**
 * Sends head and body of a JSON response in one write. Node's `writeHead` and `end` check every field and write two pieces.
 * Returns false and sends nothing when node must write the response: the request has not arrived completely, the connection
 * closes after this response, or an earlier response is not sent. Throws node's error for an invalid value in `headers`.
 */
export function sendWhole(
  exchange: Exchange,
  status: number,
  { text, bytes }: { readonly text: string; readonly bytes: number },
  headers: readonly string[],
): boolean {
  const { request, closes, isWhole } = exchange
  const response = exchange.response as NodeResponse
  const { socket } = response
  // In a version of node without the field, it is undefined.
  if (socket === null || !socket.writable || response._header !== null) return false
  if (closes || !isWhole || !response.shouldKeepAlive || request.method === 'HEAD') return false
  // As `writeHead` does: a handler may have built a value from its client's input.
  for (let i = 0; i < headers.length; i += 2)
    validateHeaderValue(headers[i] as string, headers[i + 1] as string)
  const head = `${exchange.settings.heads.begin(status)}Content-Length: ${bytes}\r\nX-Request-Id: ${exchange.requestId}\r\n${toLines(exchange.headers)}${toLines(headers)}\r\n`
  response.statusCode = status
  response._header = head
  response._headerSent = true
  // In most responses each character takes one byte: then `latin1` avoids the encoding.
  socket.write(head + text, text.length === bytes ? 'latin1' : 'utf8')
  exchange.isSent = socket.writableLength === 0
  response.end()
  return true
}

/** Returns the lines of a head. `fields` has names and values in turn. */
export function toLines(fields: readonly string[]): string {
  let lines = ''
  for (let i = 0; i < fields.length; i += 2) lines += `${fields[i]}: ${fields[i + 1]}\r\n`
  return lines
}
