import { newPasswordProblem } from '../../domain/password.ts'
import type { Io } from './io.ts'
import { Cancelled, Refusal } from './refusal.ts'

/** Asks twice for a new password without showing it. Throws `Cancelled` when the operator leaves the prompt. */
export async function askNewPassword(io: Io): Promise<string> {
  const password = await promptFor(io, 'New password', (text) => newPasswordProblem(text) ?? undefined)
  if (password !== (await promptFor(io, 'Repeat the password', () => undefined)))
    throw new Refusal('The two passwords differ; nothing was changed.')
  return password
}

/** Asks once for an existing password without showing it. Throws `Cancelled` when the operator leaves the prompt. */
export function askPassword(io: Io): Promise<string> {
  return promptFor(io, 'Password', () => undefined)
}

async function promptFor(
  io: Io,
  message: string,
  problem: (text: string) => string | undefined,
): Promise<string> {
  // Loaded here, because few commands prompt.
  const { password } = await import('@clack/prompts')
  const input = await untilInterrupted(io, (signal) =>
    password({
      message,
      validate: (text) => problem(text ?? ''),
      input: io.stdin,
      output: io.stderr,
      signal,
    }),
  )
  return input ?? ''
}

/** Runs a prompt. Throws `Cancelled` when the operator leaves it: by Ctrl-C, Ctrl-D or the end of the input. */
export async function untilInterrupted<T>(
  io: Io,
  prompt: (signal: AbortSignal) => Promise<T>,
): Promise<Exclude<T, symbol>> {
  const leaving = new AbortController()
  const leave = () => leaving.abort()
  // The prompt handles Ctrl-C only; without this, a closed input would leave it waiting for ever.
  const onKey = (_text: unknown, key?: { ctrl?: boolean; name?: string }) => {
    if (key?.ctrl && key.name === 'd') leave()
  }
  io.stdin.on('keypress', onKey).once('end', leave).once('close', leave)
  try {
    const input = await prompt(leaving.signal)
    if (typeof input === 'symbol') throw new Cancelled()
    return input as Exclude<T, symbol>
  } finally {
    io.stdin.off('keypress', onKey).off('end', leave).off('close', leave)
  }
}
