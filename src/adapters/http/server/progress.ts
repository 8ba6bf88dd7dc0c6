import type { Socket } from 'node:net'

/** How long a half-closed connection stays open without sending: its client may wait for responses, or be gone. */
const HALF_CLOSED_MS = 5000

/** What the client of a connection has accepted of the responses. */
export interface Progress {
  sentBytes: number
  queuedBytes: number
  /** When one of these changed, or the client half-closed the connection. */
  changedMs: number
  isHalfClosed: boolean
}

/** Returns the progress of a new connection. */
export function createProgress(): Progress {
  return { sentBytes: 0, queuedBytes: 0, changedMs: performance.now(), isHalfClosed: false }
}

/** Notes that the client will send nothing more. */
export function noteHalfClose(progress: Progress): void {
  progress.isHalfClosed = true
  progress.changedMs = performance.now()
}

/** Returns whether the client has accepted no byte of the waiting ones for `maxStallMs`. Updates `progress`. */
export function isStalled(socket: Socket, progress: Progress, maxStallMs: number): boolean {
  const nowMs = performance.now()
  const unsentBytes = socket.writableLength
  const sentBytes = socket.bytesWritten - unsentBytes
  const queuedBytes = queueSize(socket)
  if (sentBytes !== progress.sentBytes || queuedBytes !== progress.queuedBytes) {
    Object.assign(progress, { sentBytes, queuedBytes, changedMs: nowMs })
    return false
  }
  const stalledMs = nowMs - progress.changedMs
  if (progress.isHalfClosed && stalledMs >= HALF_CLOSED_MS) return true
  if (unsentBytes > 0) return stalledMs >= maxStallMs
  if (!progress.isHalfClosed) progress.changedMs = nowMs
  return false
}

/**
 * Returns the part of the write in progress that the operating system has not accepted. Without it, the progress within
 * one large write would be invisible; `socket.setTimeout` of node uses it, too.
 */
function queueSize(socket: Socket): number {
  return (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0
}
