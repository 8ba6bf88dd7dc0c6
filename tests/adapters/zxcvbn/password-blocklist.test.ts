import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { zxcvbnPasswordBlocklist } from '../../../src/adapters/zxcvbn/password-blocklist.ts'
import { passwordBlocklistContract } from '../../../src/testing/contracts/password-blocklist.ts'
import { PASSWORD } from '../../support/running-app.ts'

passwordBlocklistContract('zxcvbn', zxcvbnPasswordBlocklist, [
  'password',
  '12345678',
  'qwertyuiop',
  'iloveyou',
  'password1',
  'passw0rd',
])

describe('The blocklist of common passwords', () => {
  const blocklist = zxcvbnPasswordBlocklist()

  for (const password of [PASSWORD, 'correct horse', 'battery staple 10', ' hunter2 '])
    it(`does not contain ${JSON.stringify(password)}`, async () =>
      assert.equal(await blocklist.has(password), false))
})
