import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'

/** The parts of a request that determine its client address. */
export type Addressed = Pick<IncomingMessage, 'headers'> & {
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** The prefixes of addresses that embed an IPv4 address: mapped ones (RFC 4291), and those of NAT64 (RFC 6052). */
const IPV4_PREFIXES = new Set(['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'])

/**
 * Returns the client's address: an IPv4 address, also one that IPv6 embeds, or the /64 network of an IPv6 address. With `trustedProxies` proxies in
 * front, it is the address that the outermost of them has seen. A missing or invalid `X-Forwarded-For` entry stops the
 * walk: the last trusted address is returned, at first the socket's.
 */
export function clientAddress({ socket, headers }: Addressed, trustedProxies: number): string {
  let address = toNetwork(socket.remoteAddress ?? '') ?? ''
  if (trustedProxies === 0) return address
  const forwarded = headers['x-forwarded-for']
  // Node joins lines of this name by commas.
  let rest = typeof forwarded === 'string' ? forwarded : ''
  for (let hops = trustedProxies; hops > 0 && rest !== ''; hops--) {
    const comma = rest.lastIndexOf(',')
    const seen = toNetwork(withoutPort(rest.slice(comma + 1).trim()))
    if (seen === null) break
    address = seen
    rest = rest.slice(0, Math.max(0, comma))
  }
  return address
}

/** Removes port and brackets from `192.0.2.1:80`, `[2001:db8::1]:80` and `[2001:db8::1]`. */
function withoutPort(entry: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(entry)?.[1] ?? entry.replace(/^([\d.]+):\d+$/, '$1')
}

/** Returns an IPv4 address, or the /64 network of an IPv6 address; null for another text. */
export function toNetwork(text: string): string | null {
  if (isIPv4(text)) return text
  // A dual-stack socket reports IPv4 clients in this form.
  if (text.startsWith('::ffff:') && isIPv4(text.slice(7))) return text.slice(7)
  // Drop the zone, which names an interface of this machine.
  const [address = ''] = text.split('%')
  if (!isIPv6(address)) return null
  const groups = expandGroups(address)
  if (IPV4_PREFIXES.has(groups.slice(0, 6).join(':'))) {
    return groups
      .slice(6)
      .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
      .join('.')
  }
  return `${groups.slice(0, 4).join(':')}::/64`
}

/** Returns the eight groups, in lower case and without leading zeros. */
function expandGroups(address: string): readonly string[] {
  // The URL parser returns the canonical form.
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [before, after] = [left, right ?? ''].map((part) => (part === '' ? [] : part.split(':'))) as [
    string[],
    string[],
  ]
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
}
