import { DenialBudget } from '../../application/denial-budget.ts'
import type { AccessLog, AccessLogMode } from '../../application/ports/access-log.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Lines } from './block-writer.ts'
import { countLine, createLineFormatter } from './line.ts'

const COUNT_MS = 1000

/** An access log with what it holds open. */
export interface RunningAccessLog extends AccessLog {
  /** Changes which responses are logged from now on. */
  setMode(mode: AccessLogMode): void
  close(): void
}

/**
 * Writes a line for each response with 401, 403 or 429 (`failures`), or for every response (`all`). With `failures`, lines
 * beyond a `DenialBudget` are counted in `request.left_out`. Malformed tokens are
 * counted in one line a second, because any client can send any number of them; with `failures` they get no line of their
 * own.
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
  const budget = new DenialBudget(clock, ({ address, count }) =>
    lines.write(countLine('info', 'request.left_out', count, clock, address)),
  )
  let malformed = 0
  let timer: NodeJS.Timeout | null = null

  return {
    get everyResponse() {
      return mode === 'all'
    },

    responded(request, status) {
      if (mode === 'off') return
      if (request.malformedToken) {
        malformed++
        timer ??= setTimeout(writeMalformedCount, COUNT_MS).unref()
      }
      if (mode === 'all') lines.write(formatLine(request, status, true))
      else if (
        isRefusal(status) &&
        !request.malformedToken &&
        budget.admits('request', request.address ?? '')
      )
        lines.write(formatLine(request, status, false))
    },

    setMode(next) {
      mode = next
    },

    close() {
      if (timer !== null) writeMalformedCount()
      budget.close()
      lines.close()
    },
  }

  function writeMalformedCount(): void {
    if (timer !== null) clearTimeout(timer)
    timer = null
    lines.write(countLine('info', 'token.malformed', malformed, clock))
    malformed = 0
  }
}

function isRefusal(status: number): boolean {
  return status === 401 || status === 403 || status === 429
}
