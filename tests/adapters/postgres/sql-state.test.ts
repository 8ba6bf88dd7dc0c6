import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  isReadOnly,
  isUnreplicated,
  judge,
  sqlState,
} from '../../../src/adapters/postgres/connection/sql-state.ts'

describe('An error of the database', () => {
  const cases: readonly [states: string, isBug: boolean, isConnectionLost: boolean][] = [
    ['42703 42601 22P02 22003 22021 23505 23503 25P02', true, false],
    ['40001 40P01 55P03 57014 53300 53200 53100 28P01 3D000 58030 XX000 42501', false, false],
    ['08006 08P01 57P01 57P02 57P03 57P05 25006 25P03 26000 42P05 0A000 42P01 42883', false, true],
  ]
  for (const [states, isBug, isConnectionLost] of cases) {
    for (const state of states.split(' ')) {
      it(`${state} is ${isBug ? 'a bug' : 'no bug'} and ${isConnectionLost ? 'ends' : 'keeps'} the connection`, () => {
        assert.deepEqual(judge(serverError(state)), { isBug, isConnectionLost })
      })
    }
  }

  it('counts as a network error when it has no state, although a code may look like one', () => {
    const lost = { isBug: false, isConnectionLost: true }
    assert.deepEqual(judge(new Error('Connection terminated unexpectedly')), lost)
    assert.deepEqual(judge(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })), lost)
    assert.deepEqual(judge(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })), lost)
  })

  it('is a bug when this program caused it', () => {
    assert.deepEqual(judge(new TypeError('x is not a function')), { isBug: true, isConnectionLost: false })
  })

  it('has a state only if the server sent one', () => {
    assert.equal(sqlState(serverError('25006')), '25006')
    for (const error of [new Error('x'), 'x', null, serverError('lower')]) assert.equal(sqlState(error), null)
    assert.equal(isReadOnly(serverError('25006')), true)
    assert.equal(isReadOnly(serverError('42601')), false)
  })
})

describe('A notice of the database', () => {
  it('reveals a commit that its standby may lack, in any language', () => {
    const german = { severity: 'WARNUNG', message: 'breche ab', routine: 'SyncRepWaitForLSN' }
    assert.equal(isUnreplicated(german), true)
    for (const other of [{}, { routine: 'EndTransactionBlock' }]) assert.equal(isUnreplicated(other), false)
  })
})

function serverError(code: string): Error {
  return Object.assign(new Error('from the server'), { severity: 'ERROR', code })
}
