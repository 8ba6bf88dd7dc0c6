import { Unavailable } from '../domain/errors.ts'
import { pause } from './pause.ts'
import type { Clock } from './ports/clock.ts'
import type { Cancellation } from './requester.ts'

/** How long somebody waits for a turn, in milliseconds. */
const LONGEST_WAIT_MS = 2000

/** Lets so many at once go on under one key of this process; others wait in line. */
export interface Turns {
  /** Answers how to end the turn. Rejects with `Unavailable` after two seconds, and with the signal's reason. */
  next(key: string, signal: Cancellation): Promise<() => void>
}

interface Line {
  taken: number
  readonly waiting: Set<() => void>
}

/** Turns of which `most` may be taken at once under a key. */
export function makeTurns(most: number, clock: Clock): Turns {
  const lines = new Map<string, Line>()

  return {
    async next(key, signal) {
      const line = lines.get(key) ?? { taken: 0, waiting: new Set() }
      lines.set(key, line)
      if (line.taken < most) line.taken++
      // Whoever ends a turn hands it on: the count stays.
      else await handedOn(line, signal)

      return function end() {
        const [first] = line.waiting
        if (first !== undefined) first()
        else if (--line.taken === 0) lines.delete(key)
      }
    },
  }

  async function handedOn({ waiting }: Line, signal: Cancellation): Promise<void> {
    const isMine = await pause(LONGEST_WAIT_MS, clock, signal, (wake) => {
      waiting.add(wake)
      return () => waiting.delete(wake)
    })
    if (!isMine) throw new Unavailable()
  }
}
