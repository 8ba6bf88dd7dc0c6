import type { Requester } from '../requester.ts'

/** The connection of one verifier, as the hub uses it. Messages arrive in order, or not at all. */
export interface VerifierConnection {
  /** Names the verifier across connections, so that a penalty follows it. */
  readonly name: string
  /** The name of its service token, and where the connection comes from. */
  readonly service: string
  readonly requester: Pick<Requester, 'requestId' | 'address'>
  /** Whether its service token is still accepted. */
  isAllowed(): boolean
  /** Sends a line without its end. Never throws. */
  send(line: string): void
  /** Closes the connection. */
  close(): void
}

/** Why the service disconnected a verifier. */
export type DisconnectReason = (typeof DISCONNECT_REASONS)[number]

export const DISCONNECT_REASONS = [
  'hung',
  'slow_reader',
  'malformed',
  'silent',
  'revoked',
  'draining',
] as const

/** One connection of a verifier. Every invalidation from its creation on is forwarded. */
export interface VerifierSession {
  /** The verifier sent heartbeat `k`. */
  beat(k: number): void
  /** The verifier has applied everything that was sent before ask `n`. */
  seen(n: number): void
  /** The verifier has stopped: it uses nothing any more. */
  bye(): void
  /** The connection is lost. The lease of the verifier is waited out. */
  lost(): void
  /** Closes the connection, as if it was lost. */
  disconnect(reason: DisconnectReason): void
}

/** What the hub reports of its verifiers; each is called at once. */
export interface VerifierObservers {
  /** Called before the verifier may use anything. If it throws, the verifier is not connected. */
  readonly onConnected?: (connection: VerifierConnection) => void
  /** Called when the service disconnected it. Never throws. */
  readonly onDisconnected?: (connection: VerifierConnection, reason: DisconnectReason) => void
  readonly onAcknowledged?: (tookMs: number) => void
}

/** A connected verifier. */
export interface ConnectedVerifier {
  readonly name: string
  /** When its last heartbeat arrived, or it connected; in milliseconds since the Unix epoch. */
  readonly lastSeenMs: number
}
