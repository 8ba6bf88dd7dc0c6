import type { Instance } from '../../../src/adapters/postgres/revocation/instance.ts'
import type { TriggerState } from '../../../src/adapters/postgres/revocation/trigger-state.ts'
import type { Machine } from './machine.ts'
import type { Run } from './run.ts'
import { type Link, openLink, openSpeaker, type Publisher, transmit } from './streams.ts'

/** An instance with its two connections: the link listens, the speaker says. */
export interface Endpoint {
  readonly machine: Machine
  readonly instance: Instance
  link: Link
  linkDelayMs: number
  heardMs: number
  createPublisher: Publisher
  /** Changes that wait for their acknowledgement. */
  announcing: number
}

/** The triggers of the database, which announce each change. */
export interface Triggers {
  /** False while they are disabled: a change is announced by nobody. */
  isEnabled: boolean
  /** Changes whenever somebody disables, enables or replaces them. */
  version: number
}

/** The notifications of one database, and the connections that carry them. */
export interface Network {
  readonly triggers: Triggers
  /** Makes a new link. */
  connect(endpoint: Endpoint): void
  /** The link is lost, and made again some milliseconds later. */
  lose(endpoint: Endpoint, link: Link, ms: number): void
  /** Nobody is at the end of the link any more. */
  hangUp(endpoint: Endpoint): void
  /** Commits what is said: whoever listens gets it, in this order. */
  notify(payload: string): void
  say(endpoint: Endpoint, payload: string): void
  /** Makes a new speaker in place of one that was lost. */
  speakAgain(endpoint: Endpoint): void
}

export function networkOf({ parts, time, chance }: Run): Network {
  const listening = new Set<{ readonly endpoint: Endpoint; readonly link: Link }>()
  const triggers: Triggers = { isEnabled: true, version: 1 }
  return { triggers, connect, lose, hangUp, notify, say, speakAgain }

  function connect(endpoint: Endpoint): void {
    const link = openLink()
    endpoint.link = link
    listening.add({ endpoint, link })
    time.after(
      // Now and then the answer to LISTEN is late.
      chance.random() < 0.3 ? chance.random() * 300 : chance.shortly(),
      () => {
        if (!link.isOpen) return
        endpoint.heardMs = endpoint.machine.clock.monotonicMs()
        endpoint.instance.linked()
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
        endpoint.heardMs = Infinity
        endpoint.instance.unlinked()
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
    for (const listener of listening) {
      const { endpoint, link } = listener
      if (!link.isOpen && !link.lingers) listening.delete(listener)
      else if (!link.isDeaf) deliver(endpoint, link, payload)
    }
  }

  function deliver(endpoint: Endpoint, link: Link, payload: string): void {
    const delayMs = chance.shortly() + endpoint.linkDelayMs
    transmit(time, link, payload, delayMs, endpoint.machine, (arrived) => {
      if (!link.isOpen && !link.lingers) return
      endpoint.heardMs = endpoint.machine.clock.monotonicMs()
      if (endpoint.announcing > 0) time.wakes = true
      endpoint.instance.heard(arrived)
    })
  }

  function say(endpoint: Endpoint, payload: string): void {
    const { createPublisher, link } = endpoint
    if (parts.beatsByLink && payload.includes('beat')) {
      if (!link.isOpen) return
      if (link.isDeaf) deliver(endpoint, link, payload)
      time.after(chance.shortly(), () => publish(endpoint, payload))
    } else if (createPublisher.isOpen) {
      transmit(time, createPublisher, payload, chance.shortly(), null, (arrived) => {
        // Of what a lost connection was sent some arrives all the same, maybe after what the next one says.
        if (createPublisher.isOpen || chance.random() < 0.5) publish(endpoint, arrived)
      })
    }
  }

  /** The statement commits, and its result goes back over the connection that it came by. */
  function publish(endpoint: Endpoint, payload: string): void {
    const { createPublisher, machine } = endpoint
    const state: TriggerState = {
      fingerprint: `${triggers.version}`,
      problems: triggers.isEnabled ? [] : ['They are disabled.'],
    }
    notify(payload)
    transmit(time, createPublisher.results, payload, chance.shortly(), machine, (published) => {
      if (!createPublisher.isOpen) return
      if (endpoint.announcing > 0) time.wakes = true
      endpoint.instance.published(published, state)
    })
  }

  function speakAgain(endpoint: Endpoint): void {
    if (endpoint.createPublisher.isOpen) return
    endpoint.createPublisher = openSpeaker()
    endpoint.instance.beat()
  }
}
