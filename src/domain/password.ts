import { codePoints } from './text.ts'

const MAX_BYTES = 1024
const HASH_CHARACTERS = 60
/** The least that `PASSWORD_MIN_LENGTH` may be. */
const MIN_CHARACTERS = 8

/** Shorter words are part of many others. */
const MIN_WORD_CHARACTERS = 3
/** Letters beside the words with which a password is more than the words. */
const MIN_OTHER_LETTERS = 4

/** Begins a hash in Django's form: bcrypt of the password's SHA-256 in lower-case hexadecimal digits. */
export const SHA256_PREFIX = 'bcrypt_sha256$'
/** Begins a bcrypt hash in Django's database. */
const DJANGO_PREFIX = 'bcrypt$'

/** Returns the problem with a password presented at login, as one sentence, or null. */
export function presentedPasswordProblem(password: string): string | null {
  return (
    textProblem(password) ??
    (utf8Bytes(password) > MAX_BYTES ? `Must have at most ${MAX_BYTES} bytes.` : null)
  )
}

/** Returns the problem with a new password as one sentence, or null. `minLength` is its least number of characters. */
export function newPasswordProblem(password: string, minLength = MIN_CHARACTERS): string | null {
  const problem = presentedPasswordProblem(password)
  if (problem !== null) return problem
  if (codePoints(password) < minLength) return `Must have at least ${minLength} characters.`
  if (isWholePasswordHash(importedPasswordHash(password))) return 'Must be a password, not the hash of one.'
  return null
}

/**
 * Whether a password has a word of these texts, in any letter case, and fewer than four letters beside them, as in `Ana.Lopez.1985`.
 * A text is an e-mail, a name or an address of a service.
 */
export function consistsOfWords(password: string, texts: readonly string[]): boolean {
  const folded = password.toLowerCase()
  const words = texts
    .flatMap((text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u))
    .filter((word) => codePoints(word) >= MIN_WORD_CHARACTERS)
    .sort((a, b) => b.length - a.length)
  const rest = words.reduce((text, word) => text.replaceAll(word, ' '), folded)
  return rest !== folded && (rest.match(/\p{L}/gu) ?? []).length < MIN_OTHER_LETTERS
}

/**
 * Whether the text is a complete bcrypt hash with a cost from 4 to 15, of the password or, after `SHA256_PREFIX`, of its
 * SHA-256.
 */
export function isWholePasswordHash(hash: string): boolean {
  return /^(bcrypt_sha256\$)?\$2[aby]\$(0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}$/.test(hash)
}

/** Returns the form in which a hash of another system is stored: without the prefix that Django adds. */
export function importedPasswordHash(hash: string): string {
  return hash.startsWith(`${DJANGO_PREFIX}$2`) ? hash.slice(DJANGO_PREFIX.length) : hash
}

/** Whether the password has more than the 72 bytes that bcrypt reads. */
export function exceedsBcrypt(password: string): boolean {
  return utf8Bytes(password) > 72
}

/** Returns the problem with an imported hash as one sentence that does not repeat it, or null when it is whole. */
export function passwordHashProblem(hash: string): string | null {
  if (isWholePasswordHash(hash)) return null
  const bcrypt = hash.startsWith(SHA256_PREFIX) ? hash.slice(SHA256_PREFIX.length) : hash
  if (bcrypt === '') return 'Must not be empty.'
  if (!/^\$2[aby]\$/.test(bcrypt)) return 'Must be bcrypt of the version $2a$, $2b$ or $2y$.'
  if (bcrypt.length !== HASH_CHARACTERS)
    return `Has ${bcrypt.length} characters, expected ${HASH_CHARACTERS}.`
  if (!/^.{4}(0[4-9]|1[0-5])\$/.test(bcrypt)) return 'Must have a cost from 04 to 15.'
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
