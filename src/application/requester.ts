import type { Cancellation } from '../lib/cancellation.ts'

/** Where a request comes from and whether its answer is still wanted. */
export interface Requester {
  readonly requestId: string
  /** The network address: of IPv4 all of it, of IPv6 the first 64 bits. */
  readonly address: string
  /** Tells when the client went away; made when it is first asked for. */
  readonly signal: Cancellation
}

/** A request by the holder of a service token. */
export interface ServiceRequester {
  readonly requester: Requester
  /** The name of the token. */
  readonly service: string
}

/** Who asked, as the audit log tells of it. */
export function requesterFields({ requestId, address }: Requester) {
  return { request_id: requestId, address }
}
