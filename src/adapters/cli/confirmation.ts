import { untilInterrupted } from './hidden-prompt.ts'
import type { Io } from './io.ts'
import { Refusal } from './refusal.ts'

/** The flag of every command that destroys something. */
export interface YesFlag {
  readonly yes?: boolean
}

/** Whether `requireConfirmation` asks: on a terminal, unless `yes` is set. Scripts are not asked. */
export function needsConfirmation({ yes = false }: YesFlag, io: Io): boolean {
  return !yes && io.stdin.isTTY === true
}

/**
 * Asks whether to go on, where that is needed. Throws `Refusal` when the operator declines, and `Cancelled` when the
 * operator leaves the prompt or the signal aborts.
 */
export async function requireConfirmation(
  message: string,
  flags: YesFlag,
  io: Io,
  interruption?: AbortSignal,
): Promise<void> {
  if (!needsConfirmation(flags, io)) return
  const { confirm } = await import('@clack/prompts')
  const isConfirmed = await untilInterrupted(io, (signal) =>
    confirm({
      message,
      initialValue: false,
      input: io.stdin,
      output: io.stderr,
      signal: interruption === undefined ? signal : AbortSignal.any([signal, interruption]),
    }),
  )
  if (!isConfirmed) throw new Refusal('Nothing was changed.')
}
