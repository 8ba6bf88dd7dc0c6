import type { Cancellation } from '../lib/cancellation.ts'

/** Where a request comes from, and whether its client still waits for the response. */
export interface Requester {
  readonly requestId: string
  /** The network address of the client: an IPv4 address, or the first 64 bits of an IPv6 address. */
  readonly address: string
  /** Aborts when the client disconnects or the deadline of the route passes; created on first access. */
  readonly signal: Cancellation
}

/** A request by the holder of a service token. */
export interface ServiceRequester {
  readonly requester: Requester
  /** The name of the token. */
  readonly service: string
}

/** The requester's fields in the audit log. */
export function requesterFields({ requestId, address }: Requester) {
  return { requestId, address }
}
