import type { Readable } from 'node:stream'
import type { NewPassword } from '../../application/management/hash-new-password.ts'
import { askNewPassword, askPassword } from './hidden-prompt.ts'
import type { Io } from './io.ts'
import { Refusal } from './refusal.ts'

// No password or hash is nearly as long. The limit prevents an endless input from filling the memory.
const MAX_BYTES = 65_536

const NO_TERMINAL = 'There is no terminal to ask for the password; give it with --password-stdin.'

/** Where a command reads the password from. With neither flag it prompts. */
export interface PasswordSource {
  readonly passwordStdin?: boolean
  readonly hashStdin?: boolean
}

/** Reads a new password or hash from the prompt or standard input. */
export async function newPassword(source: PasswordSource, io: Io): Promise<NewPassword> {
  if (source.passwordStdin) return { password: await readSecret(io.stdin) }
  if (source.hashStdin) return { passwordHash: await readSecret(io.stdin) }
  if (!io.stdin.isTTY) throw new Refusal(NO_TERMINAL)
  return { password: await askNewPassword(io) }
}

/** Reads an existing password from the prompt or standard input. It is not validated. */
export async function readGivenPassword({ passwordStdin }: PasswordSource, io: Io): Promise<string> {
  if (passwordStdin) return readSecret(io.stdin)
  if (!io.stdin.isTTY) throw new Refusal(NO_TERMINAL)
  return askPassword(io)
}

/** Reads the whole input as strict UTF-8, and removes a byte-order mark and all line breaks at its end. */
async function readSecret(input: Readable): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of input) {
    const part = Buffer.from(chunk)
    bytes += part.length
    if (bytes > MAX_BYTES) throw new Refusal(`Standard input has more than ${MAX_BYTES} bytes.`)
    chunks.push(part)
  }
  return withoutLineBreaks(decodeUtf8(Buffer.concat(chunks)))
}

/** Not a regular expression, which would take quadratic time on a long run of line breaks in the middle. */
function withoutLineBreaks(text: string): string {
  let end = text.length
  while (end > 0 && '\r\n'.includes(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Refusal('Standard input is not UTF-8 text.')
  }
}
