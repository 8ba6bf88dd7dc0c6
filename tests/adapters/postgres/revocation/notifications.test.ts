import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  decodeNotification,
  encodeNotification,
  type ProtocolMessage,
} from '../../../../src/adapters/postgres/revocation/notifications.ts'

describe('A protocol message', () => {
  const said: readonly Exclude<ProtocolMessage, { kind: 'changed' }>[] = [
    { kind: 'beat', instance: 'a', n: 1 },
    { kind: 'ask', instance: 'a', n: 12 },
    { kind: 'seen', instance: 'a', asker: 'b', n: 3_000_000_000 },
    { kind: 'bye', instance: 'a' },
  ]

  for (const notice of said) {
    it(`of the kind ${notice.kind} is decoded as it was encoded`, () => {
      assert.deepEqual(decodeNotification(encodeNotification(notice)), notice)
    })
  }

  it('is encoded as in earlier releases, whose instances must decode it', () => {
    assert.deepEqual(said.map(encodeNotification), [
      '1 beat a 1',
      '1 ask a 12',
      '1 seen a b 3000000000',
      '1 bye a',
    ])
  })

  it('contains digests, customers or everything if a trigger published it', () => {
    assert.deepEqual(decodeNotification('1 digests d1 d2'), {
      kind: 'changed',
      invalidations: [
        { kind: 'digest', digest: 'd1' },
        { kind: 'digest', digest: 'd2' },
      ],
    })
    assert.deepEqual(decodeNotification('1 customers c1'), {
      kind: 'changed',
      invalidations: [{ kind: 'customer', customerId: 'c1' }],
    })
    assert.deepEqual(decodeNotification('1 forget'), {
      kind: 'changed',
      invalidations: [{ kind: 'everything' }],
    })
  })

  for (const payload of [
    '',
    ' ',
    '2 forget',
    '2 beat a 1',
    '01 forget',
    'forget',
    '1',
    '1 ',
    '1 Forget',
    '1 shout a',
    '1 beat',
    '1 beat a',
    '1 beat a x',
    '1 beat a 0',
    '1 beat a -1',
    '1 beat a 0x10',
    '1 beat a 1 extra',
    '1 ask a NaN',
    '1 seen a b',
    '1 seen a b Infinity',
    '1 bye',
    '1 bye  a',
    '1 digests',
    '1 digests ',
    '1 customers',
    '1 forget all',
  ]) {
    it(`is not decoded when it is ${JSON.stringify(payload)}`, () => {
      assert.equal(decodeNotification(payload), null)
    })
  }
})
