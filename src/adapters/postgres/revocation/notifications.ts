import type { Invalidation } from '../../../application/ports/invalidations.ts'

/** The channel of every notification; `sql/` names it too. */
export const CHANNEL = 'latchkey'

/** The version of the format: of what triggers announce and of what instances say to one another. */
const VERSION = '1'

/** What one notification says. Numbers count from 1, each instance its own. */
export type ProtocolMessage =
  | { readonly says: 'changed'; readonly invalidations: readonly Invalidation[] }
  /** "I am here": what committed before this was sent has been obeyed by whoever reads it. */
  | { readonly says: 'beat'; readonly instance: string; readonly n: number }
  /** "Tell me when you have obeyed all that came before this." */
  | { readonly says: 'ask'; readonly instance: string; readonly n: number }
  | { readonly says: 'seen'; readonly instance: string; readonly asker: string; readonly n: number }
  /** "I serve nobody any more." */
  | { readonly says: 'bye'; readonly instance: string }

/** The payload of what an instance says. */
export function encodeNotification(notice: Exclude<ProtocolMessage, { says: 'changed' }>): string {
  const words = [VERSION, notice.says, notice.instance]
  if (notice.says === 'seen') words.push(notice.asker)
  if (notice.says !== 'bye') words.push(String(notice.n))
  return words.join(' ')
}

/** Reads a payload; null when it cannot be understood, so that it may mean anything. */
export function decodeNotification(payload: string): ProtocolMessage | null {
  const [version, says, ...words] = payload.split(' ')
  if (version !== VERSION || words.includes('')) return null
  const [first = '', second = '', third = ''] = words
  switch (`${says} ${words.length}`) {
    case 'forget 0':
      return changed([{ kind: 'everything' }])
    case 'beat 2':
      return numbered(second, (n) => ({ says: 'beat', instance: first, n }))
    case 'ask 2':
      return numbered(second, (n) => ({ says: 'ask', instance: first, n }))
    case 'seen 3':
      return numbered(third, (n) => ({ says: 'seen', instance: first, asker: second, n }))
    case 'bye 1':
      return { says: 'bye', instance: first }
  }
  if (first === '') return null
  if (says === 'digests') return changed(words.map((digest) => ({ kind: 'digest', digest })))
  if (says === 'customers') return changed(words.map((customerId) => ({ kind: 'customer', customerId })))
  return null
}

function numbered(word: string, notice: (n: number) => ProtocolMessage): ProtocolMessage | null {
  return /^[1-9]\d{0,14}$/.test(word) ? notice(Number(word)) : null
}

function changed(invalidations: readonly Invalidation[]): ProtocolMessage {
  return { says: 'changed', invalidations }
}
