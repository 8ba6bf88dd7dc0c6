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

/** How a process takes part in the invalidations of its database. */
export interface PostgresInvalidationsOptions {
  /** The address by which the service queries: what is said takes the way of the changes. */
  readonly url: string
  /** An address of the same database without a transaction pooler in between, which loses notifications. */
  readonly directUrl: string
  /** False for poolers that break prepared statements. */
  readonly prepared: boolean
  /** Whether a change is acknowledged when every instance obeys it, or when this one does. */
  readonly strict: boolean
  readonly clock: Clock
  readonly onEvent: (event: InvalidationsEvent) => void
  /** Hears how long each heartbeat took from its sending to its return, in milliseconds. */
  readonly onLag?: ((lagMs: number) => void) | undefined
}

/** Something that an operator may want to read in the log. */
export interface InvalidationsEvent {
  readonly kind: 'suspended' | 'resumed' | 'not_understood'
  readonly detail: string
}

/** Invalidations among all processes of one database. */
export interface PostgresInvalidations extends Invalidations {
  /** Tells the others that this process serves nobody any more, and closes its two connections. */
  close(): Promise<void>
}

/** A link that hears nothing of what its own process says for as long is a link no more. */
const DEAF_MS = 2 * LEASE_MS

/**
 * Invalidations over LISTEN and NOTIFY: the triggers announce every change, whoever makes it. Until the link is up,
 * and whenever it fails, nothing that is kept counts as current, and changes are acknowledged a lease later.
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
  let heardMs = Infinity
  let currentMs = clock.monotonicMs()
  let isSuspended = false
  let problem = 'The link to the database is not up yet.'

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
      heardMs = Infinity
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
    heardMs = clock.monotonicMs()
    client.on('notification', ({ payload = '' }) => {
      heardMs = clock.monotonicMs()
      instance.heard(payload)
    })
    instance.linked()
  }

  function beat(): void {
    const nowMs = clock.monotonicMs()
    instance.beat()
    if (nowMs - heardMs > DEAF_MS) link.renew('The link to the database is silent.')
    if (instance.holdsLease()) {
      currentMs = nowMs
      if (isSuspended) onEvent({ kind: 'resumed', detail: 'Validations are kept again.' })
      isSuspended = false
    } else if (!isSuspended && nowMs - currentMs > LEASE_MS) {
      isSuspended = true
      onEvent({ kind: 'suspended', detail: `Each validation reads the database. ${problem}` })
    }
  }
}

/** Invalidations for a process that keeps nothing: every instance obeys a change when the leases before it have ended. */
export function leaseTimedInvalidations(): Invalidations {
  return {
    subscribe() {},
    isCurrent: () => false,
    publish: () => sleep(LEASE_MS),
  }
}
