const STRICT = new TextDecoder('utf-8', { fatal: true })

/**
 * Returns the text without a byte-order mark. Throws `TypeError` unless the bytes are UTF-8: lossy decoding would make two
 * different passwords equal.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  return STRICT.decode(bytes)
}
