import type { Io } from '../io.ts'

const WIDTH = 40
const BESIDE = 40
const PAUSE_MS = 100
const CLEAR_LINE = '\r\u001b[K'

/** The progress of a command in one line of a terminal. Nothing is printed to other streams. */
export interface ProgressBar {
  /** Draws the bar at most every 100 ms. `share` is from 0 to 1, or null if the total is unknown. */
  show(share: number | null, rows: number): void
  /** Removes the bar, before other lines and at the end. */
  clear(): void
}

export function createProgressBar(stream: Io['stderr'], nowMs: () => number): ProgressBar {
  if (stream.isTTY !== true) return { show() {}, clear() {} }
  let drawnAtMs = Number.NEGATIVE_INFINITY
  let isDrawn = false
  return {
    show(share, rows) {
      if (nowMs() - drawnAtMs < PAUSE_MS) return
      drawnAtMs = nowMs()
      isDrawn = true
      stream.write(`${CLEAR_LINE}Importing  ${drawBar(share, stream.columns || 80)}${rows} rows`)
    },
    clear() {
      if (isDrawn) stream.write(CLEAR_LINE)
      isDrawn = false
    },
  }
}

// @clack/prompts is not used: it captures the keyboard, and its Ctrl-C ends the process with exit code 0.
function drawBar(share: number | null, columns: number): string {
  if (share === null) return ''
  const width = Math.max(0, Math.min(WIDTH, columns - BESIDE))
  const full = Math.floor(Math.min(1, share) * width)
  const bar = '█'.repeat(full) + '░'.repeat(width - full)
  return `${bar} ${String(Math.floor(share * 100)).padStart(3)} %  `
}
