import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { newServiceSecret } from '../../../src/adapters/node-crypto/service-secrets.ts'
import { problemsOf, read } from './reading.ts'

const ROOT = join(import.meta.dirname, '../../..')
const DOCUMENTED = ['*.md', '.env.example', 'docs', 'deploy', 'examples', 'src']
/** Finds texts that could be configured as they stand: after a token's name, or as a request's credential. */
const SECRETS = /(?:\b[a-z0-9-]+=|\bBearer\s+|<token>)([A-Za-z0-9._~+/-]{32,}=*)/g

const documented = execFileSync('git', ['ls-files', '-z', ...DOCUMENTED], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter((path) =>
    /(\.(md|example|ya?ml|json|cfg|conf|service|[jt]s|sh|php|py|html)|Dockerfile)$/.test(path),
  )
  .flatMap((path) =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(SECRETS)].map(([, secret = '']) => ({
      path,
      secret,
    })),
  )

describe('The secret of a service token', () => {
  test('is rejected when this repository shows it', () => {
    assert.ok(documented.some(({ path }) => path === '.env.example'))
    for (const { path, secret } of documented)
      assert.equal(problemsOf({ SERVICE_TOKENS: `a=${secret}` })[0]?.name, 'SERVICE_TOKENS', path)
  })

  for (const secret of [
    'replace-with-the-output-of-service-token-new',
    'Replace_This_By_A_Random_Secret_0123456789',
    'an-example-secret-0123456789abcdefghij',
    'EXAMPLE.0123456789abcdefghijklmnopqrst',
    'this-is-a-placeholder-0123456789abcdef',
    'changeme-changeme-changeme-changeme-0123',
    'change-me-before-production-0123456789',
    'change_me_before_production_0123456789',
    'your-secret-token-goes-here-0123456789',
    'a'.repeat(32),
    'abcdefg'.repeat(5),
    `${'-'.repeat(29)}abcdef`,
  ])
    test(`is rejected, and not shown, when it is ${secret}`, () => {
      for (const NODE_ENV of ['production', 'development']) {
        const [problem, ...others] = problemsOf({ NODE_ENV, SERVICE_TOKENS: `monitor=${secret}` })
        assert.deepEqual(others, [])
        assert.match(problem?.problem ?? '', /^The secret of "monitor" .*latchkey service-token new/)
        assert.ok(!problem?.problem.includes(secret))
      }
    })

  test('is rejected when two names share it', () => {
    const secret = newServiceSecret()
    const [problem, ...others] = problemsOf({
      SERVICE_TOKENS: `a=${secret},b=${newServiceSecret()},c=${secret}`,
    })
    assert.deepEqual(others, [])
    assert.equal(problem?.problem, 'The secret of "c" is that of "a" too. Give each name its own.')
  })

  test('is accepted as the command creates it, and needs at least eight different characters', () => {
    for (let times = 0; times < 1000; times++) read({ SERVICE_TOKENS: `a=${newServiceSecret()}` })
    read({ SERVICE_TOKENS: `a=${'abcdefgh'.repeat(4)}` })
  })
})
