import type { AccessLog, Clock } from '../../application/ports.ts'
import type { Lines } from './block-writer.ts'
import { answerLines, countLine } from './line.ts'

const COUNT_MS = 1000

/** Who asks for the answers: whoever looks for attacks, whoever counts requests, or nobody. */
export type AccessLogMode = 'failures' | 'all' | 'off'

/**
 * A line for each refusal of authentication, authorisation or patience (`failures`), or for each answer (`all`). Texts
 * that cannot be tokens are told of by their number, once a second: anybody can send any number of them.
 */
export function accessLog({
  mode,
  lines,
  clock,
}: {
  readonly mode: AccessLogMode
  readonly lines: Lines
  readonly clock: Clock
}): AccessLog & { close(): void } {
  if (mode === 'off') return { everyAnswer: false, answered() {}, close: lines.close }
  const everyAnswer = mode === 'all'
  const answerLine = answerLines(clock)
  let malformed = 0
  let timer: NodeJS.Timeout | null = null

  return {
    everyAnswer,

    answered(answer, status) {
      if (answer.malformedToken) {
        malformed++
        timer ??= setTimeout(tellOfMalformed, COUNT_MS).unref()
      }
      if (everyAnswer || (isRefusal(status) && !answer.malformedToken))
        lines.write(answerLine(answer, status))
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
