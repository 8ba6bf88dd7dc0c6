import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { covers, coversAll, isAbility } from '../../src/domain/abilities.ts'

describe('Granted abilities', () => {
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
    it(`${JSON.stringify(granted)} cover ${required}`, () => assert.ok(covers(granted, required)))
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
    it(`${JSON.stringify(granted)} do not cover ${required}`, () => {
      assert.equal(covers(granted, required), false)
    })
  }

  it('may have 5,000 entries', () => {
    const many = Array.from({ length: 5000 }, (_, index) => `x${index}:read`)
    assert.equal(covers(many, 'orders:read'), false)
    assert.equal(covers([...many, 'orders:read'], 'orders:read'), true)
  })

  it('must cover each of several required abilities; an empty requirement is always covered', () => {
    assert.equal(coversAll(['orders:read'], ['orders:read', 'orders:write']), false)
    assert.equal(coversAll(['orders:read'], ['orders:write', 'orders:read']), false)
    assert.equal(coversAll(['orders:read', 'orders:write'], ['orders:write', 'orders:read']), true)
    assert.equal(coversAll([], []), true)
    assert.equal(coversAll([], ['orders:read']), false)
  })
})

describe('A text', () => {
  for (const text of ['*', 'orders', 'orders:read', 'orders:*', 'a:b:c', 'a:b:*', 'A_1.x-y:Z']) {
    it(`is an ability: ${text}`, () => assert.ok(isAbility(text)))
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
    it(`is not an ability: ${JSON.stringify(text)}`, () => assert.equal(isAbility(text), false))
  }
})
