import { type DestinationStream, pino, stdTimeFunctions } from 'pino'
import pretty from 'pino-pretty'
import type { LogLevel } from '../../application/configuration.ts'
import type { Log } from '../../application/ports/log.ts'
import { durableLines } from './durable-lines.ts'

/** A log whose level can be changed. */
export interface LeveledLog extends Log {
  setLevel(level: LogLevel): void
}

/** Writes one JSON line for each event to the stream, by default standard output; on a terminal, readable lines. */
export function pinoLog({
  level,
  stream = standardOutput(),
}: {
  level: LogLevel
  stream?: DestinationStream
}): LeveledLog {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      messageKey: 'event',
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: escapeLine },
    },
    stream,
  )
  return {
    info: (event, fields = {}) => logger.info(fields, event),
    warn: (event, fields = {}) => logger.warn(fields, event),
    error: (event, fields = {}) => logger.error(fields, event),
    setLevel(next) {
      logger.level = next
    },
  }
}

/**
 * Escapes the characters of a JSON line that JSON leaves as they are, although some readers end a line at them and
 * terminals interpret them.
 */
export function escapeLine(line: string): string {
  return line.replace(
    /[\u007f-\u009f\u2028\u2029\p{Surrogate}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function standardOutput(): DestinationStream {
  return process.stdout.isTTY ? readable() : tolerantLines(process.stdout.fd)
}

/**
 * Writes each line synchronously, because buffered lines would be lost when the process ends abruptly. While the reader
 * hangs, lines are dropped after a total wait of 250 ms a second; the next line that succeeds reports their number.
 */
function tolerantLines(fd: number): DestinationStream {
  const lines = durableLines(fd)
  let lost = 0
  return {
    write(line) {
      try {
        if (lost > 0) lines.write(lostLine(lost))
        lost = 0
        lines.write(line)
      } catch {
        lost++
      }
    },
  }
}

function lostLine(count: number): string {
  const time = new Date().toISOString()
  return `${JSON.stringify({ level: 'warn', time, count, event: 'log.lost' })}\n`
}

/** Formats JSON lines for a terminal. */
export function readable(): DestinationStream {
  return pretty({ sync: true, messageKey: 'event', translateTime: 'SYS:HH:MM:ss', singleLine: true })
}
