import { type DestinationStream, destination, pino, stdTimeFunctions } from 'pino'
import pretty from 'pino-pretty'
import type { Log } from '../../application/ports.ts'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** One JSON line an event on the given stream, standard output by default; readable lines on a terminal. */
export function pinoLog({
  level,
  stream = standardOutput(),
}: {
  level: LogLevel
  stream?: DestinationStream
}): Log {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      messageKey: 'event',
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: escaped },
    },
    stream,
  )
  return {
    info: (event, fields = {}) => logger.info(fields, event),
    warn: (event, fields = {}) => logger.warn(fields, event),
    error: (event, fields = {}) => logger.error(fields, event),
  }
}

// JSON leaves these as they are: some readers end a line at them, and terminals obey them.
function escaped(line: string): string {
  return line.replace(
    /[\u007f-\u009f\u2028\u2029\p{Surrogate}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

// Synchronous: lines that wait in a buffer are lost with the process.
function standardOutput(): DestinationStream {
  return process.stdout.isTTY ? readable() : destination({ fd: 1, sync: true })
}

/** Shows JSON lines on a terminal as people read them. */
export function readable(): DestinationStream {
  return pretty({ sync: true, messageKey: 'event', translateTime: 'SYS:HH:MM:ss', singleLine: true })
}
