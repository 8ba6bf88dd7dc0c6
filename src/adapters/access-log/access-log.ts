import type { AccessLog } from '../../application/ports/access-log.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Lines } from './block-writer.ts'
import { countLine, createLineFormatter } from './line.ts'

const COUNT_MS = 1000

/** Who asks for the answers: whoever looks for attacks, whoever counts requests, or nobody. */
export type AccessLogMode = 'failures' | 'all' | 'off'

/** An access log with what it holds open. */
export interface RunningAccessLog extends AccessLog {
  /** Tells of other answers from then on. */
  setMode(mode: AccessLogMode): void
  close(): void
}

/**
 * A line for each refusal of authentication, authorisation or patience (`failures`), or for each answer (`all`). Texts
 * that cannot be tokens are told of by their number, once a second: anybody can send any number of them.
 */
export function accessLog({
  mode: firstMode,
  lines,
  clock,
}: {
  readonly mode: AccessLogMode
  readonly lines: Lines
  readonly clock: Clock
}): RunningAccessLog {
  let mode = firstMode
  const formatLine = createLineFormatter(clock)
  let malformed = 0
  let timer: NodeJS.Timeout | null = null

  return {
    get everyResponse() {
      return mode === 'all'
    },

    responded(answer, status) {
      if (mode === 'off') return
      if (answer.malformedToken) {
        malformed++
        timer ??= setTimeout(tellOfMalformed, COUNT_MS).unref()
      }
      if (mode === 'all' || (isRefusal(status) && !answer.malformedToken))
        lines.write(formatLine(answer, status, mode === 'all'))
    },

    setMode(next) {
      mode = next
    },

    close() {
      if (timer !== null) tellOfMalformed()
      lines.close()
    },
  }

  function tellOfMalformed(): void {
    if (timer !== null) clearTimeout(timer)
    timer = null
    lines.write(countLine('info', 'token.malformed', malformed, clock))
    malformed = 0
  }
}

function isRefusal(status: number): boolean {
  return status === 401 || status === 403 || status === 429
}
