import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectionLimit } from '../../../src/adapters/config/connection-limit.ts'
import { surveyConfiguration } from '../../../src/adapters/config/survey.ts'

const unset = { maxConnections: null, poolMax: 10 }

describe('The number of connections', () => {
  test('is MAX_CONNECTIONS if that is set', () => {
    assert.equal(connectionLimit({ ...unset, maxConnections: 7 }, 1024), 7)
  })

  for (const [why, maxDescriptors, expected] of [
    ['is by default what the limit of open files leaves', 1024, 814],
    ['is at least 16 by default', 64, 16],
    ['is at most 65,536 by default', 1_048_576, 65_536],
    ['is at most 65,536 by default without a limit of open files', Number.POSITIVE_INFINITY, 65_536],
    ['is 10,000 by default where the limit of open files is unknown', null, 10_000],
  ] as const)
    test(why, () => assert.equal(connectionLimit(unset, maxDescriptors), expected))

  test('is read from this process', () => {
    assert.ok(connectionLimit(unset) >= 16)
  })
})

function warningsWith(env: Readonly<Record<string, string>>): string {
  const { warnings } = surveyConfiguration({ env, dotEnv: null })
  return warnings.map(({ sentence }) => sentence).join('\n')
}

test('a MAX_CONNECTIONS above the limit of open files is warned about', () => {
  assert.match(
    warningsWith({ MAX_CONNECTIONS: '1000000' }),
    /^MAX_CONNECTIONS is more than the limit of open/,
  )
  assert.equal(warningsWith({ MAX_CONNECTIONS: '10' }), '')
})

describe('TRUST_PROXY=0', () => {
  for (const [env, isWarnedAbout] of [
    [{}, false],
    [{ PUBLIC_URL: 'https://api.example.com' }, true],
    [{ PUBLIC_URL: 'http://api.example.com' }, true],
    [{ PUBLIC_URL: 'http://api.example.com:3000' }, false],
    [{ PUBLIC_URL: 'http://api.example.com', PORT: '80' }, false],
    [{ PUBLIC_URL: 'http://127.0.0.1:8080', PORT: '0' }, false],
    [{ PUBLIC_URL: 'https://api.example.com', TRUST_PROXY: '1' }, false],
  ] as const)
    test(`${isWarnedAbout ? 'is' : 'is not'} warned about with ${JSON.stringify(env)}`, () => {
      assert.equal(warningsWith(env).includes('TRUST_PROXY'), isWarnedAbout)
    })
})
