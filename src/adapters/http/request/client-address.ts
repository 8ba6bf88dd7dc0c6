import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'

/** What an address is read from. */
export type Addressed = Pick<IncomingMessage, 'headers'> & {
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/**
 * Where a request comes from: an address of IPv4, or the network of 64 bits of an IPv6 one. With proxies in front, it
 * is what the outermost of so many has seen. An entry of `X-Forwarded-For` that is missing or no address ends the way:
 * what was believed before it counts, which is the socket's address where nothing was.
 */
export function clientAddress({ socket, headers }: Addressed, trustedProxies: number): string {
  let believed = networkOf(socket.remoteAddress ?? '') ?? ''
  if (trustedProxies === 0) return believed
  const forwarded = headers['x-forwarded-for']
  // Node joins lines of this name by commas.
  let rest = typeof forwarded === 'string' ? forwarded : ''
  for (let hops = trustedProxies; hops > 0 && rest !== ''; hops--) {
    const comma = rest.lastIndexOf(',')
    const seen = networkOf(withoutPort(rest.slice(comma + 1).trim()))
    if (seen === null) break
    believed = seen
    rest = rest.slice(0, Math.max(0, comma))
  }
  return believed
}

/** `192.0.2.1:80`, `[2001:db8::1]:80` and `[2001:db8::1]` without port and brackets. */
function withoutPort(entry: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(entry)?.[1] ?? entry.replace(/^([\d.]+):\d+$/, '$1')
}

function networkOf(text: string): string | null {
  if (isIPv4(text)) return text
  // What a socket of both families calls most clients.
  if (text.startsWith('::ffff:') && isIPv4(text.slice(7))) return text.slice(7)
  // A zone names an interface of this machine.
  const [address = ''] = text.split('%')
  if (!isIPv6(address)) return null
  const groups = groupsOf(address)
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') {
    return groups
      .slice(6)
      .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
      .join('.')
  }
  return `${groups.slice(0, 4).join(':')}::/64`
}

/** The eight groups, in lower case and without leading zeros. */
function groupsOf(address: string): readonly string[] {
  // Whatever way it was written, a URL has it in one.
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [before, after] = [left, right ?? ''].map((part) => (part === '' ? [] : part.split(':'))) as [
    string[],
    string[],
  ]
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
}
