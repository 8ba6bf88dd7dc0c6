import { OWN_CHANNEL } from '../../../src/adapters/postgres/revocation/notifications.ts'
import type { Instance } from '../../../src/adapters/postgres/revocation/protocol.ts'
import type { TriggerState } from '../../../src/adapters/postgres/revocation/trigger-state.ts'
import type { Machine } from './machine.ts'
import type { Run } from './run.ts'
import { type Link, openLink, openPublisher, type Publisher, transmit } from './streams.ts'
import type { Version } from './versions.ts'

/** An instance with its two connections: the listener connection and the publisher. */
export interface Endpoint {
  readonly name: string
  readonly machine: Machine
  readonly instance: Instance
  link: Link
  linkDelayMs: number
  receivedMs: number
  publisher: Publisher
  /** The number of changes that wait for their acknowledgement. */
  announcing: number
  /** The version that decides on which channel it sends its messages. */
  readonly version: 'same' | Version
}

/** The triggers of the database, which publish each change. */
export interface Triggers {
  /** False while they are disabled: changes are then not published. */
  isEnabled: boolean
  /** Changes when an operator disables, enables or replaces them. */
  version: number
}

/** The notifications of one database, and the connections that carry them. */
export interface Network {
  readonly triggers: Triggers
  /** Opens a new listener connection. */
  connect(endpoint: Endpoint): void
  /** Loses the listener connection, and opens a new one some milliseconds later. */
  lose(endpoint: Endpoint, link: Link, ms: number): void
  /** Closes the listener connection for good. */
  hangUp(endpoint: Endpoint): void
  /** Commits a notification on the secret channel. Every listener receives it, in this order. */
  notify(payload: string): void
  /** Commits a notification on the public channel. */
  notifyInPublic(payload: string): void
  say(endpoint: Endpoint, payload: string): void
  /** Opens a new publisher in place of a lost one. */
  reopenPublisher(endpoint: Endpoint): void
}

export function createNetwork({ parts, time, chance }: Run): Network {
  const listening = new Set<{ readonly endpoint: Endpoint; readonly link: Link }>()
  const triggers: Triggers = { isEnabled: true, version: 1 }
  return { triggers, connect, lose, hangUp, notify, notifyInPublic, say, reopenPublisher }

  function connect(endpoint: Endpoint): void {
    const link = openLink()
    endpoint.link = link
    listening.add({ endpoint, link })
    time.after(
      // The response to LISTEN is sometimes late.
      chance.random() < 0.3 ? chance.random() * 300 : chance.shortly(),
      () => {
        if (!link.isOpen) return
        endpoint.receivedMs = endpoint.machine.clock.monotonicMs()
        endpoint.instance.connected()
      },
      endpoint.machine,
    )
  }

  function lose(endpoint: Endpoint, link: Link, ms: number): void {
    if (!link.isOpen) return
    link.isOpen = false
    link.lingers = chance.random() < 0.3
    time.after(
      0,
      () => {
        endpoint.receivedMs = Infinity
        endpoint.instance.disconnected()
        time.after(ms, () => connect(endpoint), endpoint.machine)
      },
      endpoint.machine,
    )
  }

  function hangUp(endpoint: Endpoint): void {
    endpoint.link.isOpen = false
    for (const listener of listening) if (listener.endpoint === endpoint) listening.delete(listener)
  }

  function notify(payload: string): void {
    send((instance) => instance.received(payload))
    // As `latchkey_say` and the triggers of the previous version do.
    const [version, kind, name] = payload.split(' ')
    if (version === '1' && kind === 'beat') notifyInPublic(`2 beat ${name}`)
    else if (version === '1' && /^(forget|digests|customers)$/.test(kind ?? '')) notifyInPublic(payload)
  }

  function notifyInPublic(payload: string): void {
    send((instance) => instance.receivedInPublic(payload))
  }

  /** As `latchkey_send` does: an asker with a channel of its own alone receives its acknowledgements. */
  function notifyConcerned(payload: string): void {
    const [version, kind, , asker = ''] = payload.split(' ')
    if (version === '1' && kind === 'seen' && asker.startsWith(OWN_CHANNEL))
      send((instance) => instance.received(payload), asker)
    else notify(payload)
  }

  function send(receive: (instance: Instance) => void, to: string | null = null): void {
    for (const listener of listening) {
      const { endpoint, link } = listener
      if (to !== null && endpoint.name !== to) continue
      if (!link.isOpen && !link.lingers) listening.delete(listener)
      else if (!link.isDeaf) deliver(endpoint, link, receive)
    }
  }

  function deliver(endpoint: Endpoint, link: Link, receive: (instance: Instance) => void): void {
    const delayMs = chance.shortly() + endpoint.linkDelayMs
    transmit(time, link, receive, delayMs, endpoint.machine, (receiveArrived) => {
      if (!link.isOpen && !link.lingers) return
      endpoint.receivedMs = endpoint.machine.clock.monotonicMs()
      if (endpoint.announcing > 0) time.wakes = true
      receiveArrived(endpoint.instance)
    })
  }

  function say(endpoint: Endpoint, payload: string): void {
    const { publisher, link } = endpoint
    if (parts.beatsByLink && payload.includes('beat')) {
      if (!link.isOpen) return
      if (link.isDeaf) deliver(endpoint, link, (instance) => instance.received(payload))
      time.after(chance.shortly(), () => publish(endpoint, payload))
    } else if (publisher.isOpen) {
      transmit(time, publisher, payload, chance.shortly(), null, (arrived) => {
        // Some of what a lost connection sent arrives anyway, possibly after what the next one sends.
        if (publisher.isOpen || chance.random() < 0.5) publish(endpoint, arrived)
      })
    }
  }

  /** Commits the statement and returns its result over the same connection. */
  function publish(endpoint: Endpoint, payload: string): void {
    const { publisher, machine } = endpoint
    const state: TriggerState = {
      fingerprint: `${triggers.version}`,
      problems: triggers.isEnabled ? [] : ['They are disabled.'],
    }
    if (endpoint.version === 'previous') notifyInPublic(payload)
    else if (endpoint.version === 'broadcasting') notify(payload)
    else notifyConcerned(payload)
    transmit(time, publisher.results, payload, chance.shortly(), machine, (published) => {
      if (!publisher.isOpen) return
      if (endpoint.announcing > 0) time.wakes = true
      endpoint.instance.published(published, state)
    })
  }

  function reopenPublisher(endpoint: Endpoint): void {
    if (endpoint.publisher.isOpen) return
    endpoint.publisher = openPublisher()
    endpoint.instance.beat()
  }
}
