import type { Socket } from 'node:net'
import type { AccessLog } from '../../../application/ports/access-log.ts'
import type { EndedRequest } from '../../../application/ports/request-observers.ts'
import { type HttpError, STATUS_BY_REASON } from '../errors.ts'
import { acceptRequestId } from '../request/request-id.ts'
import { rawFailure } from '../response/response.ts'

const CLOSING_MS = 1000
const UNREAD = { traceId: null, method: null, route: null, beganMs: null, malformedToken: false }

/** Responds to bytes that node's parser refused, which have no `ServerResponse`, and closes the connection. */
export function refuseConnection(
  socket: Socket,
  failure: HttpError,
  accessLog: AccessLog,
  onEnded: (ended: EndedRequest) => void,
): void {
  const requestId = acceptRequestId(undefined)
  socket.end(rawFailure(failure, requestId))
  const status = STATUS_BY_REASON[failure.reason]
  accessLog.responded({ ...UNREAD, requestId }, status)
  onEnded({ ...UNREAD, status })
  // Half-close first: if the client still sends, a full close would reset the connection and the client could lose the
  // response. Node's parser discards those bytes.
  socket.removeAllListeners('readable')
  const timer = setTimeout(() => socket.destroy(), CLOSING_MS)
  socket.once('close', () => clearTimeout(timer))
  socket.resume()
}
