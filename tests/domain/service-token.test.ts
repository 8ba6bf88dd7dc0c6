import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isScope, missingScopes, serviceTokenProblem } from '../../src/domain/service-token.ts'

const SECRET = 'k7Qw-3._~+/ZxN0pLmRtYvBsDfGhJcXa'
const problem = (secret: string, name = 'monitor', scopes = ['status']) =>
  serviceTokenProblem({ name, scopes, secret })

describe('A service token', () => {
  it('has a name of lower-case letters, digits and hyphens', () => {
    for (const name of ['monitor', 'a', '7', '-', 'ci-2']) assert.equal(problem(SECRET, name), null)
    for (const name of ['', 'Monitor', 'mon itor', 'mon_itor', 'monitor\n', 'moniteür', 'a=b']) {
      assert.equal(problem(SECRET, name), 'A name must be lower-case letters, digits and hyphens.')
    }
  })

  it('has scopes that are words, one or more', () => {
    for (const scope of ['ops', 'a', '7', 'reports:read', 'a:b:c', 'A_b.c-d']) {
      assert.ok(isScope(scope), scope)
      assert.equal(problem(SECRET, 'monitor', ['status', scope]), null)
    }
    for (const scope of ['', '*', 'reports:*', 'a b', 'a,b', ':a', 'a:', 'a::b', 'a"', 'a\n', 'é']) {
      assert.ok(!isScope(scope), scope)
      assert.equal(
        problem(SECRET, 'monitor', ['status', scope]),
        'The scopes of "monitor" must be words of letters, digits and _.-: with a space between them.',
      )
    }
    assert.equal(
      problem(SECRET, 'monitor', []),
      'The brackets after "monitor" are empty. Leave them out, or write scopes.',
    )
  })

  it('lacks the required scopes that it does not grant by their exact words', () => {
    assert.deepEqual(missingScopes(['status', 'ops'], ['ops', 'status']), [])
    assert.deepEqual(missingScopes([], []), [])
    assert.deepEqual(missingScopes(['*', 'Ops', 'reports'], ['ops', 'reports:read', 'reports']), [
      'ops',
      'reports:read',
    ])
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
