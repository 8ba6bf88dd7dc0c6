import type { Invalidation } from '../../../application/ports/invalidations.ts'

/**
 * The channel of the earlier version. Every role of the database may send on it, so nothing on it is believed. The
 * functions `latchkey_say` and `latchkey_listen` in `sql/` use a channel with a secret name.
 */
export const PUBLIC_CHANNEL = 'latchkey'

/**
 * The name of an instance that receives its acknowledgements on a channel of its own begins with this. To an instance of the
 * earlier version, they are sent on the channel of all. The function `latchkey_send` in `sql/` decides.
 */
export const OWN_CHANNEL = '@'

/** The version of the message format of triggers and instances. */
const VERSION = '1'

/** One message. `n` counts from 1, separately for each instance. */
export type ProtocolMessage =
  | { readonly kind: 'changed'; readonly invalidations: readonly Invalidation[] }
  /** A heartbeat. A receiver has applied every change that committed before it was sent. */
  | { readonly kind: 'beat'; readonly instance: string; readonly n: number }
  /** Asks every instance to acknowledge when it has applied everything before this message. */
  | { readonly kind: 'ask'; readonly instance: string; readonly n: number }
  /** The acknowledgement of an ask, for the asker alone. */
  | { readonly kind: 'seen'; readonly instance: string; readonly asker: string; readonly n: number }
  /** The instance has stopped serving. */
  | { readonly kind: 'bye'; readonly instance: string }

/** Returns the payload of an instance's message. */
export function encodeNotification(message: Exclude<ProtocolMessage, { kind: 'changed' }>): string {
  const words = [VERSION, message.kind, message.instance]
  if (message.kind === 'seen') words.push(message.asker)
  if (message.kind !== 'bye') words.push(String(message.n))
  return words.join(' ')
}

/** Decodes a payload. Returns null for an unknown format, which may be of a later version. */
export function decodeNotification(payload: string): ProtocolMessage | null {
  const [version, kind, ...words] = payload.split(' ')
  if (version !== VERSION || words.includes('')) return null
  const [first = '', second = '', third = ''] = words
  switch (`${kind} ${words.length}`) {
    case 'forget 0':
      return changed([{ kind: 'everything' }])
    case 'beat 2':
      return parseNumbered(second, (n) => ({ kind: 'beat', instance: first, n }))
    case 'ask 2':
      return parseNumbered(second, (n) => ({ kind: 'ask', instance: first, n }))
    case 'seen 3':
      return parseNumbered(third, (n) => ({ kind: 'seen', instance: first, asker: second, n }))
    case 'bye 1':
      return { kind: 'bye', instance: first }
  }
  if (first === '') return null
  if (kind === 'digests') return changed(words.map((digest) => ({ kind: 'digest', digest })))
  if (kind === 'customers') return changed(words.map((customerId) => ({ kind: 'customer', customerId })))
  return null
}

/** What a message on the public channel may mean. All else there is believed of no sender. */
export type PublicMessage = 'heartbeat' | 'forget' | 'other'

/**
 * Decodes a payload of the public channel: a heartbeat of an instance of the earlier version, or the end of its command
 * `token revoke --issued-before`. Returns null for an unknown format. Instances of this version send `2 beat` there, which
 * the earlier version cannot decode.
 */
export function decodePublicNotification(payload: string): PublicMessage | null {
  if (payload === '1 forget') return 'forget'
  if (/^2 beat \S+$/.test(payload)) return 'other'
  const message = decodeNotification(payload)
  if (message === null) return null
  return message.kind === 'beat' ? 'heartbeat' : 'other'
}

function parseNumbered(word: string, message: (n: number) => ProtocolMessage): ProtocolMessage | null {
  return /^[1-9]\d{0,14}$/.test(word) ? message(Number(word)) : null
}

function changed(invalidations: readonly Invalidation[]): ProtocolMessage {
  return { kind: 'changed', invalidations }
}
