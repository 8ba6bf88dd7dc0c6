import type { Cancellation } from '../lib/cancellation.ts'

/** Where a request comes from, and whether its client still waits for the response. */
export interface Requester {
  readonly requestId: string
  /** The network address of the client: an IPv4 address, or an IPv6 network such as `2001:db8:1:2::/64`. */
  readonly address: string
  /** Aborts when the client disconnects or the deadline of the route passes; created on first access. */
  readonly signal: Cancellation
}

/**
 * Returns the network that shares one turn in the hashing queue: an IPv4 address, or the first 48 bits of an IPv6 address,
 * which is what one customer of a provider receives (RFC 6177).
 */
export function sharedNetwork(address: string): string {
  return address.endsWith('::/64') ? `${address.split(':').slice(0, 3).join(':')}::/48` : address
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
