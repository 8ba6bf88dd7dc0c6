import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Invalidation, Invalidations } from '../../../application/ports/invalidations.ts'
import type { Clock } from '../../../lib/clock.ts'
import { BEAT_MS, protocolInstance } from './instance.ts'
import { LEASE_MS } from './lease.ts'
import { CHANNEL } from './notifications.ts'
import { createPublisher } from './publisher.ts'
import { createReconnectingClient } from './reconnecting-client.ts'

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
  readonly clock: Clock
  readonly onEvent: (event: InvalidationsEvent) => void
  /** Called with the milliseconds that each heartbeat took to return. */
  readonly onLag?: ((lagMs: number) => void) | undefined
}

/** An event of the invalidations, for the log. */
export interface InvalidationsEvent {
  readonly kind: 'suspended' | 'resumed' | 'not_understood'
  readonly detail: string
}

/** Invalidations among all processes of one database. */
export interface PostgresInvalidations extends Invalidations {
  /** Announces that this process has stopped serving, and closes its two connections. */
  close(): Promise<void>
}

/** A listener connection that does not receive this process's own messages for this duration is replaced. */
const MAX_SILENCE_MS = 2 * LEASE_MS

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
  const subscribers: ((invalidation: Invalidation) => void)[] = []
  let receivedMs = Infinity
  let currentMs = clock.monotonicMs()
  let isSuspended = false
  let problem = 'The listener connection to the database is not up yet.'

  const voice = createPublisher({
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
  const instance = protocolInstance({
    name: randomUUID(),
    clock,
    send: voice.say,
    apply,
    warn: () =>
      onEvent({ kind: 'not_understood', detail: 'A notification of an unknown version was received.' }),
    onReturn: onLag,
  })
  const link = createReconnectingClient({
    url: directUrl,
    name: 'latchkey link',
    prepare: (client) => client.query(`listen ${CHANNEL}`),
    onUp: listenTo,
    onDown(reason) {
      problem = reason
      receivedMs = Infinity
      instance.unlinked()
    },
  })
  const beating = setInterval(beat, BEAT_MS)

  return {
    subscribe(subscriber) {
      subscribers.push(subscriber)
    },
    isCurrent: instance.holdsLease,
    async publish(invalidation) {
      apply(invalidation)
      if (strict) await instance.settled()
    },
    async close() {
      clearInterval(beating)
      instance.leave()
      await voice.close()
      await link.close()
    },
  }

  function apply(invalidation: Invalidation): void {
    for (const subscriber of subscribers) subscriber(invalidation)
  }

  function listenTo(client: Client): void {
    receivedMs = clock.monotonicMs()
    client.on('notification', ({ payload = '' }) => {
      receivedMs = clock.monotonicMs()
      instance.heard(payload)
    })
    instance.linked()
  }

  function beat(): void {
    const nowMs = clock.monotonicMs()
    instance.beat()
    if (nowMs - receivedMs > MAX_SILENCE_MS)
      link.renew('The listener connection to the database receives nothing.')
    if (instance.holdsLease()) {
      currentMs = nowMs
      if (isSuspended) onEvent({ kind: 'resumed', detail: 'Validations are cached again.' })
      isSuspended = false
    } else if (!isSuspended && nowMs - currentMs > LEASE_MS) {
      isSuspended = true
      onEvent({ kind: 'suspended', detail: `Each validation reads the database. ${problem}` })
    }
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
