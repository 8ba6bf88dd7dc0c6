import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { zxcvbnPasswordBlocklist } from '../../../src/adapters/zxcvbn/password-blocklist.ts'
import { PASSWORD } from '../../support/running-app.ts'

describe('The blocklist of common passwords', () => {
  const blocklist = zxcvbnPasswordBlocklist()

  for (const password of ['password', '12345678', 'qwertyuiop', 'iloveyou', 'password1', 'passw0rd'])
    it(`contains ${password} in any letter case`, async () => {
      for (const written of [
        password,
        password.toUpperCase(),
        `${password[0]?.toUpperCase()}${password.slice(1)}`,
      ])
        assert.equal(await blocklist.has(written), true, written)
    })

  for (const password of [
    PASSWORD,
    'correct horse',
    'battery staple 10',
    ' hunter2 ',
    'password ',
    '',
    '__proto__',
  ])
    it(`does not contain ${JSON.stringify(password)}`, async () =>
      assert.equal(await blocklist.has(password), false))
})
