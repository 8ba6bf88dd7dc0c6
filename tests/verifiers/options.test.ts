import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createVerifier } from '../../src/package/verify.ts'

test('A verifier refuses an address or a service token that no request can have', () => {
  const url = 'http://127.0.0.1:1'
  for (const [options, message] of [
    [{ url: 'latchkey:3000', serviceToken: 'secret' }, /^url must be/],
    [{ url: 'http://host:99999', serviceToken: 'secret' }, /^url must be/],
    [{ url: [], serviceToken: 'secret' }, /^url must be/],
    // Such as a file that was read whole.
    [{ url, serviceToken: 'secret\n' }, /^serviceToken must/],
    [{ url, serviceToken: '' }, /^serviceToken must/],
  ] as const)
    assert.throws(() => createVerifier(options), { name: 'TypeError', message })
})
