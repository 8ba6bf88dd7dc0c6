import type { HashingRequest } from '../../src/application/ports/password-hasher.ts'
import type { Ports } from '../../src/application/ports/ports.ts'
import type { Requester } from '../../src/application/requester.ts'

/** Ports that allow everything and store nothing, for tests of other things. */
export function idlePorts(): Pick<Ports, 'blocklist' | 'throttle' | 'usage' | 'audit' | 'oneTimeTokens'> {
  return {
    blocklist: { has: () => false },
    throttle: {
      take: async (attempt) => ({ kind: 'taken', slot: { ...attempt, takenAtMs: 0, isKnown: false } }),
      settle: async () => {},
      forget: async () => {},
    },
    usage: { used() {} },
    audit: { record() {} },
    oneTimeTokens: { add: async () => true, find: async () => null, use: async () => null },
  }
}

/** A request for a slot of the hashing queue, from an unknown account. */
export function aHashingRequest(different: Partial<HashingRequest> = {}): HashingRequest {
  return {
    source: '127.0.0.1',
    account: 'ana@example.com',
    isKnown: false,
    signal: new AbortController().signal,
    ...different,
  }
}

/** A requester on this machine that waits for the response. */
export function aRequester(different: Partial<Requester> = {}): Requester {
  return {
    requestId: 'a-request',
    address: '127.0.0.1',
    signal: new AbortController().signal,
    ...different,
  }
}
