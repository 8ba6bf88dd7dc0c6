import type { Instance } from '../../../src/adapters/postgres/revocation/protocol.ts'
import type { Sleeper, Timeline } from './timeline.ts'

/** One direction of a connection. */
export interface Stream<Message = string> {
  isOpen: boolean
  thawsMs: number
  /** When the last message on the way arrives. */
  lastMs: number
  readonly waiting: Message[]
}

/** The incoming direction of a listener connection. */
export interface Link extends Stream<(instance: Instance) => void> {
  /** The connection is lost, but messages that it had received are still delivered. */
  lingers: boolean
  isDeaf: boolean
}

/** The outgoing direction of a publisher, with the results that come back. */
export interface Publisher extends Stream {
  readonly results: Stream
}

export function openStream<Message = string>(): Stream<Message> {
  return { isOpen: true, thawsMs: 0, lastMs: 0, waiting: [] }
}

export function openLink(): Link {
  return { ...openStream(), lingers: false, isDeaf: false }
}

export function openPublisher(): Publisher {
  return { ...openStream(), results: openStream() }
}

/** Delivers messages of one connection in order, even when it freezes. */
export function transmit<Message>(
  time: Timeline,
  stream: Stream<Message>,
  message: Message,
  delayMs: number,
  to: Sleeper | null,
  receive: (message: Message) => void,
): void {
  stream.lastMs = Math.max(stream.lastMs, stream.thawsMs, time.nowMs + delayMs)
  stream.waiting.push(message)
  time.at(stream.lastMs, arrive, to)

  function arrive(): void {
    if (time.nowMs < stream.thawsMs) {
      time.at(stream.thawsMs, arrive, to)
      return
    }
    const oldest = stream.waiting.shift()
    if (oldest !== undefined) receive(oldest)
  }
}
