import { type Acknowledgements, acknowledgements } from './acknowledgements.ts'
import { createHeartbeats } from './heartbeats.ts'
import { createLease } from './lease.ts'
import {
  decodeNotification,
  decodePublicNotification,
  encodeNotification,
  type ProtocolMessage,
} from './notifications.ts'
import type { Instance, InstanceOptions } from './protocol.ts'
import type { TriggerState } from './trigger-state.ts'

/** The instances that send what this one cannot decode, as one. It is no word of a message, so it never acknowledges. */
const NAMELESS = 'an instance without a name'

/** Creates an instance with a unique name. `send` may lose or delay payloads. */
export function protocolInstance({
  name,
  clock,
  send,
  apply,
  warn,
  onReturn = () => {},
  settleVerifiers = (done) => done(),
}: InstanceOptions): Instance {
  const lease = createLease(clock)
  const others: Acknowledgements = acknowledgements({
    clock,
    request: (n) => send(encodeNotification({ kind: 'ask', instance: name, n })),
    settleVerifiers,
  })
  const heartbeats = createHeartbeats(clock, lease.grant)
  /** The fingerprint of the triggers since the cache was last cleared; null until the connection has read one. */
  let fingerprint: string | null = null
  let isConnected = false
  let hasLeft = false

  return {
    connected() {
      if (hasLeft) return
      isConnected = true
      beat()
    },

    disconnected() {
      isConnected = false
      fingerprint = null
      // A heartbeat sent before the next connection is up proves nothing about what that connection has missed.
      heartbeats.clear()
      lease.end()
      others.disconnected()
    },

    received(payload) {
      // Earlier notifications do not matter: the first heartbeat of the next connection clears the cache (see `reset`).
      if (!isConnected) return
      const message = decodeNotification(payload)
      if (message === null) notDecoded(payload)
      else handle(message)
    },

    receivedInPublic(payload) {
      if (!isConnected) return
      const message = decodePublicNotification(payload)
      if (message === null) notDecoded(payload)
      else if (message === 'heartbeat') others.receivedHeartbeat(NAMELESS)
      else if (message === 'forget') apply({ kind: 'everything' })
    },

    published(payload, triggers) {
      if (!isConnected) return
      // Changes since the earlier state may not have been published, and earlier ones were not received at all.
      const isSame = triggers.fingerprint === fingerprint
      if (!isSame) reset(triggers)
      const message = decodeNotification(payload)
      if (triggers.problems.length > 0) return
      if (message?.kind === 'beat') heartbeats.confirm(message.n, 'isVerified')
      if (message?.kind === 'ask' && isSame) others.verified(message.n)
    },

    beat() {
      if (isConnected) beat()
    },

    holdsLease: lease.holds,
    lease: lease.left,
    settled: others.settled,
    otherInstances: others.count,

    leave() {
      hasLeft = true
      isConnected = false
      lease.end()
      send(encodeNotification({ kind: 'bye', instance: name }))
    },
  }

  function beat(): void {
    send(encodeNotification({ kind: 'beat', instance: name, n: heartbeats.record() }))
  }

  function handle(message: ProtocolMessage): void {
    switch (message.kind) {
      case 'changed':
        for (const invalidation of message.invalidations) apply(invalidation)
        break
      case 'beat':
        if (message.instance === name) returned(message.n)
        else others.receivedHeartbeat(message.instance)
        break
      case 'ask':
        if (message.instance === name) others.receivedEcho(message.n)
        else settleVerifiers(() => acknowledge(message))
        break
      case 'seen':
        if (message.asker === name) others.receivedAcknowledgement(message.instance, message.n)
        break
      case 'bye':
        others.receivedBye(message.instance)
        break
    }
  }

  function acknowledge({ instance: asker, n }: { readonly instance: string; readonly n: number }): void {
    send(encodeNotification({ kind: 'seen', instance: name, asker, n }))
  }

  /** It may be a change, or the heartbeat of an instance of a later version that holds a lease. */
  function notDecoded(payload: string): void {
    apply({ kind: 'everything' })
    others.receivedHeartbeat(NAMELESS)
    warn(payload)
  }

  function returned(n: number): void {
    const sentAt = heartbeats.sentAt(n)
    if (sentAt === undefined) return
    onReturn(clock.monotonicMs() - sentAt.monotonicMs)
    heartbeats.confirm(n, 'hasReturned')
  }

  /** Starts again from the triggers in this state: an empty cache, no lease, no known instance. */
  function reset(triggers: TriggerState): void {
    fingerprint = triggers.fingerprint
    lease.end()
    apply({ kind: 'everything' })
    others.disconnected()
    if (triggers.problems.length === 0) others.connected()
  }
}
