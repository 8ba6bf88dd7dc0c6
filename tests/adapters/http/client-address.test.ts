import assert from 'node:assert/strict'
import { isIPv6 } from 'node:net'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { clientAddress } from '../../../src/adapters/http/request/client-address.ts'

const addressFrom = (remoteAddress: string | undefined, forwarded?: string, trustedProxies = 0) =>
  clientAddress(
    { socket: { remoteAddress }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } },
    trustedProxies,
  )

describe('The client address of a request', () => {
  it("is the socket's IPv4 address, or the first 64 bits of its IPv6 address", () => {
    for (const [remote, expected] of [
      ['192.0.2.1', '192.0.2.1'],
      ['::ffff:192.0.2.1', '192.0.2.1'],
      ['::FFFF:c000:201', '192.0.2.1'],
      ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
      ['2001:db8::1', '2001:db8:0:0::/64'],
      ['2001:db8:0:1::', '2001:db8:0:1::/64'],
      ['::1', '0:0:0:0::/64'],
      ['::', '0:0:0:0::/64'],
      ['1::', '1:0:0:0::/64'],
      ['::ffff:0:192.0.2.1', '0:0:0:0::/64'],
      ['64:ff9b::192.0.2.1', '192.0.2.1'],
      ['64:FF9B:0:0::c000:201', '192.0.2.1'],
      ['64:ff9b:0:1::192.0.2.1', '64:ff9b:0:1::/64'],
      ['64:ff9b:1::192.0.2.1', '64:ff9b:1:0::/64'],
      ['fe80::1%eth0', 'fe80:0:0:0::/64'],
      [undefined, ''],
    ] as const) {
      assert.equal(addressFrom(remote), expected, String(remote))
    }
  })

  it('is the same for all addresses of a /64 network in any notation, and differs for another network', () => {
    const group = fc.integer({ min: 0, max: 0xffff })
    fc.assert(
      fc.property(
        fc.array(group, { minLength: 8, maxLength: 8 }),
        fc.array(group, { minLength: 4 }),
        (a, b) => {
          const text = (groups: readonly number[]) => groups.map((g) => g.toString(16)).join(':')
          const canonical = new URL(`http://[${text(a)}]`).hostname.slice(1, -1)
          assert.ok(isIPv6(canonical))
          if (a.slice(0, 4).every((g) => g === 0) || (a[0] === 0x64 && a[1] === 0xff9b)) return
          const expected = `${text(a.slice(0, 4))}::/64`
          assert.equal(addressFrom(text(a)), expected)
          assert.equal(addressFrom(canonical), expected)
          assert.equal(addressFrom(text([...a.slice(0, 4), ...b.slice(0, 4)])), expected)
          assert.notEqual(addressFrom(text([...a.slice(0, 3), (a[3] ?? 0) ^ 1, ...b.slice(0, 4)])), expected)
        },
      ),
    )
  })

  it('ignores the header when no proxy is trusted', () => {
    assert.equal(addressFrom('192.0.2.1', '203.0.113.9'), '192.0.2.1')
  })

  it('is the entry that the outermost trusted proxy added, counted from the right', () => {
    const forwarded = '203.0.113.1, 203.0.113.2,203.0.113.3'
    assert.equal(addressFrom('192.0.2.1', forwarded, 1), '203.0.113.3')
    assert.equal(addressFrom('192.0.2.1', forwarded, 2), '203.0.113.2')
    assert.equal(addressFrom('192.0.2.1', forwarded, 3), '203.0.113.1')
  })

  it('accepts IPv4 and IPv6 entries with ports and brackets', () => {
    for (const [entry, expected] of [
      ['203.0.113.9:4711', '203.0.113.9'],
      ['[2001:db8::1]:4711', '2001:db8:0:0::/64'],
      ['[2001:db8::1]', '2001:db8:0:0::/64'],
      ['2001:db8::1', '2001:db8:0:0::/64'],
      ['::ffff:203.0.113.9', '203.0.113.9'],
      ['[::ffff:203.0.113.9]:1', '203.0.113.9'],
      ['\t203.0.113.9 ', '203.0.113.9'],
    ] as const) {
      assert.equal(addressFrom('192.0.2.1', `forged, ${entry}`, 1), expected, entry)
    }
  })

  it('is the last trusted address before a missing or invalid entry', () => {
    for (const forwarded of [
      '',
      ',',
      'unknown',
      '203.0.113.9,',
      '203.0.113.256',
      '_hidden',
      '1.2.3.4:x',
      '[1::2',
    ]) {
      assert.equal(addressFrom('192.0.2.1', forwarded, 1), '192.0.2.1', forwarded)
    }
    assert.equal(addressFrom('192.0.2.1', undefined, 2), '192.0.2.1')
    assert.equal(addressFrom('192.0.2.1', '203.0.113.9', 3), '203.0.113.9')
    assert.equal(addressFrom('192.0.2.1', '203.0.113.1, unknown, 203.0.113.3', 3), '203.0.113.3')
    assert.equal(addressFrom('192.0.2.1', ',203.0.113.3', 2), '203.0.113.3')
  })

  it('is always a valid address, for any header', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 0, max: 100 }), (forwarded, hops) => {
        assert.match(addressFrom('192.0.2.1', forwarded, hops), /^[\d.]+$|^[\da-f:]+::\/64$/)
      }),
    )
  })
})
