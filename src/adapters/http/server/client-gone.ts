import type { Socket } from 'node:net'

/** The client disconnected before the exchange ended. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** Shared by all requests: creating a stack for each would cost as much as the whole request. */
export const CLIENT_GONE = new ClientGone()

/** Whether an error only reports that its request, on this socket, was cancelled for a reason; null if it was not. */
export function isCausedBy(
  cancelled: Error | null,
  error: unknown,
  { destroyed }: Pick<Socket, 'destroyed'>,
): boolean {
  if (cancelled !== null && (error === cancelled || getCause(error) === cancelled)) return true
  // The error may come from another request whose client has gone. This request then fails like any other.
  return error instanceof ClientGone && (cancelled !== null || destroyed)
}

/** When a signal aborts, node's functions reject with their own error, whose cause is the signal's reason. */
function getCause(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined
}
