import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { AccessLog } from '../../../application/ports/access-log.ts'
import type { EndedRequest } from '../../../application/ports/request-observers.ts'
import type { LatchkeyError } from '../../../domain/errors.ts'
import { type HttpReason, STATUS_BY_REASON } from '../failure-reasons.ts'
import { toFailureResponse } from '../response/failure-response.ts'
import { COMMON, CONTENT_TYPE } from '../response/response.ts'
import { toLines } from '../response/whole-response.ts'

const CLOSING_MS = 1000
const UNREAD = {
  address: null,
  traceId: null,
  spanId: null,
  method: null,
  route: null,
  beganMs: null,
  malformedToken: false,
}

/** Responds without a `ServerResponse`, to bytes that node's parser refused or on a refused connection, and closes it. */
export function refuseConnection(
  socket: Socket,
  failure: LatchkeyError,
  accessLog: AccessLog,
  onEnded: (ended: EndedRequest) => void,
): void {
  const requestId = randomUUID()
  socket.end(rawFailure(failure, requestId))
  const status = STATUS_BY_REASON[failure.reason as HttpReason]
  accessLog.responded({ ...UNREAD, requestId }, status)
  onEnded({ ...UNREAD, status })
  // Half-close first: if the client still sends, a full close would reset the connection and the client could lose the
  // response. Node's parser discards those bytes.
  socket.removeAllListeners('readable')
  const timer = setTimeout(() => socket.destroy(), CLOSING_MS)
  socket.once('close', () => clearTimeout(timer))
  socket.resume()
}

/** Returns a failure as HTTP text, for a connection whose request could not be parsed and has no `ServerResponse`. */
function rawFailure(error: LatchkeyError, requestId: string): string {
  const { status, headers, text } = toFailureResponse(error, requestId)
  const list = [
    ...CONTENT_TYPE,
    'Content-Length',
    String(Buffer.byteLength(text)),
    ...COMMON,
    'X-Request-Id',
    requestId,
    ...headers,
    'Date',
    new Date().toUTCString(),
    'Connection',
    'close',
  ]
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${toLines(list)}\r\n${text}`
}
