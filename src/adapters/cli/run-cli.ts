import { debuglog } from 'node:util'
import { CommanderError } from 'commander'
import { explain } from './explain.ts'
import type { Io } from './io.ts'
import type { Operations } from './operations.ts'
import { createProgram } from './program.ts'
import { Cancelled } from './refusal.ts'

/** How a command ended: done, refused or failed, wrongly called. */
export type ExitCode = 0 | 1 | 2

/**
 * Runs one command, `argv` being the words behind the program's name, and answers its exit code. It throws nothing
 * and ends no process, so that all output arrives.
 */
export async function runCli(
  argv: readonly string[],
  operations: Operations,
  io: Io = process,
): Promise<ExitCode> {
  // Failures arrive with each write; without a listener they would end the process as well.
  io.stdout.on('error', ignore)
  io.stderr.on('error', ignore)
  try {
    await createProgram(operations, io).parseAsync(argv.length === 0 ? ['serve'] : argv, { from: 'user' })
    return 0
  } catch (error) {
    return exitCodeOf(error, io)
  }
}

function exitCodeOf(error: unknown, io: Io): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof Cancelled) return 1
  debuglog('latchkey')('%s', error instanceof Error ? error.stack : error)
  io.stderr.write(
    explain(error)
      .map((line) => `latchkey: ${line}\n`)
      .join(''),
  )
  return 1
}

function ignore(): void {}
