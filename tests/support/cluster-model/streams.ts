import type { Sleeper, Timeline } from './timeline.ts'

/** What one connection carries in one direction. */
export interface Stream {
  isOpen: boolean
  thawsMs: number
  /** When the last that is under way arrives. */
  lastMs: number
  readonly waiting: string[]
}

/** What a connection hears that listens. */
export interface Link extends Stream {
  /** Lost, but what it had received is still handed on. */
  lingers: boolean
  isDeaf: boolean
}

/** What a connection carries that publishes, and the results that come back. */
export interface Publisher extends Stream {
  readonly results: Stream
}

function openStream(): Stream {
  return { isOpen: true, thawsMs: 0, lastMs: 0, waiting: [] }
}

export function openLink(): Link {
  return { ...openStream(), lingers: false, isDeaf: false }
}

export function openSpeaker(): Publisher {
  return { ...openStream(), results: openStream() }
}

/** What one connection is given arrives in this order, however often it freezes. */
export function transmit(
  time: Timeline,
  stream: Stream,
  payload: string,
  delayMs: number,
  to: Sleeper | null,
  receive: (payload: string) => void,
): void {
  stream.lastMs = Math.max(stream.lastMs, stream.thawsMs, time.nowMs + delayMs)
  stream.waiting.push(payload)
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
