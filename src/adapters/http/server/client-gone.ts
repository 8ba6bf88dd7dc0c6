/** The client disconnected before the exchange ended. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** Shared by all requests: creating a stack for each would cost as much as the whole request. */
export const CLIENT_GONE = new ClientGone()
