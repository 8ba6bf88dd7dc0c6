import { untilLeft } from './hidden-prompt.ts'
import type { Io } from './io.ts'
import { Refusal } from './refusal.ts'

/** The flag of every command that destroys something. */
export interface YesFlag {
  readonly yes?: boolean
}

/**
 * Asks on a terminal whether to go on, unless `yes` is set; scripts are not asked. Throws `Refusal` when the operator
 * declines, and `Cancelled` when the operator leaves the prompt.
 */
export async function requireConfirmation(message: string, { yes = false }: YesFlag, io: Io): Promise<void> {
  if (yes || !io.stdin.isTTY) return
  const { confirm } = await import('@clack/prompts')
  const isConfirmed = await untilLeft(io, (signal) =>
    confirm({ message, initialValue: false, input: io.stdin, output: io.stderr, signal }),
  )
  if (!isConfirmed) throw new Refusal('Nothing was changed.')
}
