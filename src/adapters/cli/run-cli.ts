import { debuglog } from 'node:util'
import { CommanderError } from 'commander'
import { explain } from './explain.ts'
import type { Io } from './io.ts'
import { lineWidth, wrapText } from './line-width.ts'
import type { Operations } from './operations.ts'
import { createProgram } from './program.ts'
import { Cancelled } from './refusal.ts'

/** How a command ended: 0 succeeded, 1 refused or failed, 2 called with wrong arguments. */
export type ExitCode = 0 | 1 | 2

/**
 * Runs one command and returns its exit code. `argv` holds the words after the program's name. It throws nothing and
 * does not end the process, so that all output is written.
 */
export async function runCli(
  argv: readonly string[],
  operations: Operations,
  io: Io = process,
): Promise<ExitCode> {
  // Each write reports its own failure; without a listener the error event would also end the process.
  io.stdout.on('error', ignore)
  io.stderr.on('error', ignore)
  try {
    await createProgram(operations, io).parseAsync(argv.length === 0 ? ['serve'] : argv, { from: 'user' })
    return 0
  } catch (error) {
    return toExitCode(error, io)
  }
}

function toExitCode(error: unknown, io: Io): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof Cancelled) return 1
  debuglog('latchkey')('%s', error instanceof Error ? error.stack : error)
  io.stderr.write(
    explain(error)
      .map((line) => wrapText('latchkey: ', line, lineWidth(io.stderr)))
      .join(''),
  )
  return 1
}

function ignore(): void {}
