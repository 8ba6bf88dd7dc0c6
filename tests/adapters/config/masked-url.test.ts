import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maskedUrl } from '../../../src/adapters/config/masked-url.ts'

test('A masked URL shows its server, and no secret', () => {
  for (const [url, shown] of [
    [
      'postgres://ana:canary%2F@db:5432/lk?sslmode=verify-full',
      'postgres://ana:***@db:5432/lk?sslmode=verify-full',
    ],
    ['postgres:///lk?host=/run/pg&password=canary', 'postgres:///lk?host=%2Frun%2Fpg&password=***'],
    [
      'postgres://db/lk?sslpassword=canary&sslpassword=canary&options=canary',
      'postgres://db/lk?sslpassword=***&options=***',
    ],
  ] as const)
    assert.equal(maskedUrl(url), shown)
})
