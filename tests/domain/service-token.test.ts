import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { serviceTokenProblem } from '../../src/domain/service-token.ts'

const SECRET = 'k7Qw-3._~+/ZxN0pLmRtYvBsDfGhJcXa'
const problem = (secret: string, name = 'monitor') => serviceTokenProblem({ name, secret })

describe('A service token', () => {
  it('has a name of lower-case letters, digits and hyphens', () => {
    for (const name of ['monitor', 'a', '7', '-', 'ci-2']) assert.equal(problem(SECRET, name), null)
    for (const name of ['', 'Monitor', 'mon itor', 'mon_itor', 'monitor\n', 'moniteür', 'a=b']) {
      assert.equal(problem(SECRET, name), 'A name must be lower-case letters, digits and hyphens.')
    }
  })

  it('has a secret of at least 32 characters', () => {
    const short = 'The secret of "monitor" must have at least 32 characters.'
    assert.equal(SECRET.length, 32)
    assert.equal(problem(SECRET), null)
    assert.equal(problem(SECRET.slice(1)), short)
    assert.equal(problem(''), short)
    assert.equal(problem('abcdefgh'.repeat(100)), null)
  })

  it('has a secret that can follow Bearer in a header', () => {
    assert.equal(problem(`${SECRET}=`), null)
    assert.equal(problem(`${SECRET}==`), null)
    const wrong = 'The secret of "monitor" must be letters, digits and -._~+/ with = at the end only.'
    for (const secret of [
      `${SECRET} `,
      `${SECRET}\n`,
      `${SECRET},x`,
      `${SECRET}"`,
      `${SECRET}=x`,
      `=${SECRET}`,
      '='.repeat(32),
      `${SECRET}é`,
      `${SECRET}\u0000`,
    ]) {
      assert.equal(problem(secret), wrong)
    }
  })
})
