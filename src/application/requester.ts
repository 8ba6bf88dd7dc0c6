import type { Cancellation } from '../lib/cancellation.ts'

/** Where a request comes from, and whether its client still waits for the response. */
export interface Requester {
  readonly requestId: string
  /** The network address of the client: an IPv4 address, or an IPv6 network such as `2001:db8:1:2::/64`. */
  readonly address: string
  /** Aborts when the client disconnects or the deadline of the route passes; created on first access. */
  readonly signal: Cancellation
  /** Who is charged for unknown tokens; the address when it is left out. */
  readonly payer?: string
}

/** The fields of a request in the audit log. */
export type RequestOrigin = Pick<Requester, 'requestId' | 'address'>

/** Returns the requester, charged to the service token of this name instead of the client address. */
export function chargedToService(requester: Requester, service: string): Requester {
  return new ChargedRequester(requester, service)
}

/** A class, because creating an object with a getter for each request takes as long as the rest of its check. */
class ChargedRequester implements Requester {
  readonly requestId: string
  readonly address: string
  readonly payer: string
  readonly #requester: Requester

  constructor(requester: Requester, service: string) {
    this.requestId = requester.requestId
    this.address = requester.address
    // No address contains a space.
    this.payer = `service ${service}`
    this.#requester = requester
  }

  get signal(): Cancellation {
    return this.#requester.signal
  }
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
export function requesterFields({ requestId, address }: RequestOrigin) {
  return { requestId, address }
}

/** The fields of the holder of a service token in the audit log. */
export function serviceFields({ requester, service }: ServiceRequester) {
  return { ...requesterFields(requester), service }
}
