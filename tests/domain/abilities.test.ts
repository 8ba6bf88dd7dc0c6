import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { covers, coversAll, isAbility } from '../../src/domain/abilities.ts'

describe('What was granted covers what is required', () => {
  for (const [granted, required] of [
    [['orders:read'], 'orders:read'],
    [['*'], 'orders:read'],
    [['*'], 'orders'],
    [['orders:*'], 'orders:read'],
    [['orders:*'], 'orders:read:own'],
    [['orders:*'], 'orders:*'],
    [['orders:read:*'], 'orders:read:own'],
    [['x', 'y', 'orders:read'], 'orders:read'],
    [['x', 'orders:*'], 'orders:write'],
  ] as const) {
    it(`${JSON.stringify(granted)} covers ${required}`, () => assert.ok(covers(granted, required)))
  }

  for (const [granted, required] of [
    [[], 'orders:read'],
    [[''], 'orders:read'],
    [['orders:read'], 'orders:write'],
    [['Orders:Read'], 'orders:read'],
    [['ORDERS:*'], 'orders:read'],
    [['orders:*'], 'ORDERS:read'],
    [['orders:*'], 'orders'],
    [['orders:*'], 'ordersx:read'],
    [['orders:*'], 'order:read'],
    [['orders'], 'orders:read'],
    [['orders:'], 'orders:read'],
    [['orders:read'], 'orders:*'],
    [['orders:read'], 'orders:read:own'],
    [['orders:read:*'], 'orders:read'],
    [['orders*'], 'orders:read'],
    [['orders:r*'], 'orders:read'],
    [['*:read'], 'orders:read'],
    [['**'], 'orders:read'],
    [[' *'], 'orders:read'],
    [['orders:read '], 'orders:read'],
    [['o.ders:read'], 'orders:read'],
    [['orders:read', 'orders:list'], 'orders:write'],
  ] as const) {
    it(`${JSON.stringify(granted)} does not cover ${required}`, () => {
      assert.equal(covers(granted, required), false)
    })
  }

  it('with 5,000 entries as with one', () => {
    const many = Array.from({ length: 5000 }, (_, index) => `x${index}:read`)
    assert.equal(covers(many, 'orders:read'), false)
    assert.equal(covers([...many, 'orders:read'], 'orders:read'), true)
  })

  it('only when each of several is covered; nothing required is always covered', () => {
    assert.equal(coversAll(['orders:read'], ['orders:read', 'orders:write']), false)
    assert.equal(coversAll(['orders:read'], ['orders:write', 'orders:read']), false)
    assert.equal(coversAll(['orders:read', 'orders:write'], ['orders:write', 'orders:read']), true)
    assert.equal(coversAll([], []), true)
    assert.equal(coversAll([], ['orders:read']), false)
  })
})

describe('A text is one ability', () => {
  for (const text of ['*', 'orders', 'orders:read', 'orders:*', 'a:b:c', 'a:b:*', 'A_1.x-y:Z']) {
    it(`when it is ${text}`, () => assert.ok(isAbility(text)))
  }
  for (const text of [
    '',
    ' ',
    ':',
    'orders:',
    ':read',
    'a::b',
    '*:read',
    'orders*',
    'orders:*:x',
    '**',
    'orders:**',
    'a b',
    'a,b',
    'a"b',
    'orders:read\n',
    '\norders:read',
    'é',
  ]) {
    it(`not when it is ${JSON.stringify(text)}`, () => assert.equal(isAbility(text), false))
  }
})
