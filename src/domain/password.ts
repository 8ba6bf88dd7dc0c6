import { codePoints } from './text.ts'

const MAX_PRESENTED_BYTES = 1024
const MAX_SET_BYTES = 72
const MIN_SET_CHARACTERS = 8
const HASH_CHARACTERS = 60

/**
 * Returns the problem with a password presented at login, as one sentence, or null. The limit is higher than for a new
 * password: imported hashes may be of longer passwords, of which bcrypt used the first 72 bytes.
 */
export function presentedPasswordProblem(password: string): string | null {
  return (
    textProblem(password) ??
    (utf8Bytes(password) > MAX_PRESENTED_BYTES ? `Must have at most ${MAX_PRESENTED_BYTES} bytes.` : null)
  )
}

/** Returns the problem with a new password as one sentence, or null. */
export function newPasswordProblem(password: string): string | null {
  const problem = textProblem(password)
  if (problem !== null) return problem
  if (codePoints(password) < MIN_SET_CHARACTERS) return `Must have at least ${MIN_SET_CHARACTERS} characters.`
  if (utf8Bytes(password) > MAX_SET_BYTES) return `Must have at most ${MAX_SET_BYTES} bytes.`
  if (isWholePasswordHash(password)) return 'Must be a password, not the hash of one.'
  return null
}

/** Whether the text is a complete bcrypt hash with a cost from 4 to 15; nothing else is stored or verified. */
export function isWholePasswordHash(hash: string): boolean {
  return /^\$2[aby]\$(0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}$/.test(hash)
}

/** Returns the problem with an imported hash as one sentence that does not repeat it, or null when it is whole. */
export function passwordHashProblem(hash: string): string | null {
  if (isWholePasswordHash(hash)) return null
  if (hash === '') return 'Must not be empty.'
  if (!/^\$2[aby]\$/.test(hash)) return 'Must be bcrypt of the version $2a$, $2b$ or $2y$.'
  if (hash.length !== HASH_CHARACTERS) return `Has ${hash.length} characters, expected ${HASH_CHARACTERS}.`
  if (!/^.{4}(0[4-9]|1[0-5])\$/.test(hash)) return 'Must have a cost from 04 to 15.'
  return 'Must be a whole bcrypt hash.'
}

function textProblem(password: string): string | null {
  if (!password.isWellFormed()) return 'Must be well-formed text.'
  // bcrypt stops at NUL: "ab" and "ab\0c" would be the same password.
  if (password.includes('\u0000')) return 'Must not contain NUL.'
  return null
}

function utf8Bytes(text: string): number {
  let bytes = 0
  for (const character of text) {
    const unit = character.charCodeAt(0)
    bytes += character.length === 2 ? 4 : unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3
  }
  return bytes
}
