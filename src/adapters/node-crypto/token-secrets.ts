import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { TokenSecrets } from '../../application/ports/secrets.ts'
import type { ForeignForm } from '../../domain/foreign-token.ts'
import { foreignSecrets } from './foreign-secrets.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_CHARACTERS = 40
const CHECKSUM_CHARACTERS = 6
const FORM = /^[a-z][a-z0-9]{0,15}_[0-9A-Za-z]{46}$/

/**
 * Secrets of the form `<prefix>_<40 random characters><6 characters of checksum>`. The checksum covers the presented
 * prefix, so that tokens issued under an older prefix stay valid.
 */
export function tokenSecrets({
  prefix,
  foreign = [],
}: {
  readonly prefix: string
  /** The systems whose tokens are accepted too. Default: none. */
  readonly foreign?: readonly ForeignForm[]
}): TokenSecrets {
  const foreignDigestOf = foreignSecrets(foreign)
  return {
    issue() {
      const body = `${prefix}_${randomText()}`
      const secret = body + computeChecksum(body)
      return { secret, digest: hash('sha256', secret, 'hex') }
    },
    digestOf(presented) {
      // A text in the own form is never foreign, so that a mistyped token costs no lookup.
      if (!FORM.test(presented)) return foreignDigestOf(presented)
      const body = presented.slice(0, -CHECKSUM_CHARACTERS)
      return computeChecksum(body) === presented.slice(-CHECKSUM_CHARACTERS)
        ? hash('sha256', presented, 'hex')
        : null
    },
  }
}

function randomText(): string {
  let text = ''
  while (text.length < RANDOM_CHARACTERS) {
    for (const byte of randomBytes(RANDOM_CHARACTERS)) {
      // 248 is the largest multiple of 62 in a byte. Rejecting the rest makes every character equally likely.
      if (byte < 248 && text.length < RANDOM_CHARACTERS) text += ALPHABET[byte % 62]
    }
  }
  return text
}

/** CRC-32 (IEEE 802.3) in base62, most significant digit first. */
function computeChecksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let i = 0; i < CHECKSUM_CHARACTERS; i++) {
    digits = ALPHABET[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}
