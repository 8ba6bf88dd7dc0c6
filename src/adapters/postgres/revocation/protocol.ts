import type { Invalidation, ProcessLease } from '../../../application/ports/invalidations.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { TriggerState } from './trigger-state.ts'

/** One instance's part in the invalidation protocol, over any transport; decision record 0007 explains it. */
export interface Instance {
  /** The listener connection receives notifications from now on. */
  connected(): void
  /** The listener connection is lost: cached validations may not be used. */
  disconnected(): void
  /** A notification was received on the secret channel. */
  received(payload: string): void
  /** A notification was received on the channel of the earlier version, on which anybody may send. */
  receivedInPublic(payload: string): void
  /** The statement that published a payload of this instance has committed, and found the triggers in this state. */
  published(payload: string, triggers: TriggerState): void
  /** Sends a heartbeat if the listener connection is up. Called every `BEAT_MS`. */
  beat(): void
  /** Whether cached validations may be used now. */
  holdsLease(): boolean
  /** Returns what remains of the lease, or null without one. */
  lease(): ProcessLease | null
  /** Resolves when every instance has applied all changes committed before the call. */
  settled(): Promise<void>
  /** The number of other instances that may hold a lease. */
  otherInstances(): number
  /** Ends the lease and publishes that this instance has stopped serving. */
  leave(): void
}

/** The surroundings of an instance. */
export interface InstanceOptions {
  /** Unique among all instances. */
  readonly name: string
  readonly clock: Clock
  /** Publishes a payload, which may be lost or delayed. */
  readonly send: (payload: string) => void
  /** Drops the cached validations that the change concerns. */
  readonly apply: (invalidation: Invalidation) => void
  /** Called with a notification that cannot be decoded. */
  readonly warn: (payload: string) => void
  /** Calls back when no verifier of this instance uses a validation from before the call. Default: at once. */
  readonly settleVerifiers?: ((done: () => void) => void) | undefined
  /** Called with the milliseconds that each heartbeat took to return. */
  readonly onReturn?: ((lagMs: number) => void) | undefined
}
