import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Invalidation, Invalidations } from '../../../application/ports/invalidations.ts'
import type { Clock } from '../../../lib/clock.ts'
import { BEAT_MS } from './heartbeats.ts'
import { protocolInstance } from './instance.ts'
import { LEASE_MS } from './lease.ts'
import { createListener } from './listener.ts'
import { OWN_CHANNEL } from './notifications.ts'
import { createPublisher } from './publisher.ts'
import { createSuspension, type InvalidationsEvent } from './suspension.ts'

/** The options of invalidations over PostgreSQL. */
export interface PostgresInvalidationsOptions {
  /** The address that the service queries: messages take the same path as the changes. */
  readonly url: string
  /** An address of the same database without a transaction pooler, which loses notifications. */
  readonly directUrl: string
  /** False for poolers that break prepared statements. */
  readonly prepared: boolean
  /** Whether a change is acknowledged once every instance has applied it (true), or once this one has (false). */
  readonly strict: boolean
  /** Measures leases by its monotonic time, and detects a suspended machine by its wall time. */
  readonly clock: Clock
  /** Called when the cache is suspended or used again, and for a message that cannot be decoded. */
  readonly onEvent: (event: InvalidationsEvent) => void
  /** Called with the milliseconds that each heartbeat took to return. */
  readonly onLag?: ((lagMs: number) => void) | undefined
}

/** Invalidations among all processes of one database. */
export interface PostgresInvalidations extends Invalidations {
  /** Publishes that this process has stopped serving, and closes its two connections. */
  close(): Promise<void>
}

/**
 * Invalidations over LISTEN and NOTIFY: triggers publish every change, also those of other programs. While the listener
 * connection is down, cached validations are not current, and changes are acknowledged after the duration of a lease.
 */
export function postgresInvalidations({
  url,
  directUrl,
  prepared,
  strict,
  clock,
  onEvent,
  onLag,
}: PostgresInvalidationsOptions): PostgresInvalidations {
  const suspension = createSuspension(clock, onEvent)
  const subscribers: ((invalidation: Invalidation) => void)[] = []
  let settleVerifiers = (done: () => void) => done()
  let problem = 'The listener connection to the database is not up yet.'

  const publisher = createPublisher({
    url,
    prepared,
    onUp: () => instance.beat(),
    onPublished(payload, triggers) {
      if (triggers.problems.length > 0) problem = triggers.problems.join(' ')
      instance.published(payload, triggers)
    },
    onDown(reason) {
      problem = reason
    },
  })
  const name = `${OWN_CHANNEL}${randomUUID()}`
  const instance = protocolInstance({
    name,
    clock,
    send: publisher.publish,
    apply,
    warn: suspension.notDecoded,
    onReturn: onLag,
    settleVerifiers: (done) => settleVerifiers(done),
  })
  const listener = createListener({
    instance: name,
    url: directUrl,
    clock,
    onUp: () => instance.connected(),
    onNotification: (payload) => instance.received(payload),
    onPublicNotification: (payload) => instance.receivedInPublic(payload),
    onDown(reason) {
      problem = reason
      instance.disconnected()
    },
  })
  const beating = setInterval(beat, BEAT_MS)

  return {
    subscribe(subscriber) {
      subscribers.push(subscriber)
    },
    isCurrent: instance.holdsLease,
    lease: instance.lease,
    onSettle(settle) {
      settleVerifiers = settle
    },
    otherInstances: instance.otherInstances,
    async publish(invalidation) {
      apply(invalidation)
      if (strict) await instance.settled()
    },
    async close() {
      clearInterval(beating)
      instance.leave()
      await publisher.close()
      await listener.close()
    },
  }

  function apply(invalidation: Invalidation): void {
    for (const subscriber of subscribers) subscriber(invalidation)
  }

  function beat(): void {
    instance.beat()
    listener.checkSilence()
    suspension.update(instance.holdsLease(), problem)
  }
}

/** Invalidations for a process without a cache: `publish` resolves when every lease granted before it has expired. */
export function leaseTimedInvalidations(): Invalidations {
  return {
    subscribe() {},
    isCurrent: () => false,
    publish: () => sleep(LEASE_MS),
  }
}
