import { newPasswordProblem } from '../../domain/password.ts'
import type { Io } from './io.ts'
import { Cancelled, Refusal } from './refusal.ts'

/** Asks twice for a password that may be set, without showing it; throws `Cancelled` when the operator leaves. */
export async function askNewPassword(io: Io): Promise<string> {
  const password = await ask(io, 'New password', (text) => newPasswordProblem(text) ?? undefined)
  if (password !== (await ask(io, 'The same again', () => undefined)))
    throw new Refusal('The two passwords differ; nothing was changed.')
  return password
}

/** Asks once for a password that is set already, without showing it; throws `Cancelled` when the operator leaves. */
export function askPassword(io: Io): Promise<string> {
  return ask(io, 'Password', () => undefined)
}

async function ask(io: Io, message: string, problem: (text: string) => string | undefined): Promise<string> {
  // Loaded here, for the few commands that ask.
  const { isCancel, password } = await import('@clack/prompts')
  const leaving = new AbortController()
  const leave = () => leaving.abort()
  // The prompt knows Ctrl-C; without this, an input that ends would leave it waiting for ever.
  const onKey = (_text: unknown, key?: { ctrl?: boolean; name?: string }) => {
    if (key?.ctrl && key.name === 'd') leave()
  }
  io.stdin.on('keypress', onKey).once('end', leave).once('close', leave)
  try {
    const answer = await password({
      message,
      validate: (text) => problem(text ?? ''),
      input: io.stdin,
      output: io.stderr,
      signal: leaving.signal,
    })
    if (isCancel(answer)) throw new Cancelled()
    return answer ?? ''
  } finally {
    io.stdin.off('keypress', onKey).off('end', leave).off('close', leave)
  }
}
