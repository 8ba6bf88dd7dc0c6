import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { temporaryFolder } from '../tests/support/running-process.ts'
import {
  type Anomaly,
  anomaliesIn,
  type Operation,
  openHistory,
  readHistory,
  shownAnomaly,
} from './history.ts'

const LEASE_MS = 1000

function operation(
  does: Operation['does'],
  at: string,
  [invokedMs, returnedMs]: readonly [number, number],
  outcome: Operation['outcome'],
): Operation {
  return { customer: 'c', token: 't', does, at, invokedMs, returnedMs, outcome }
}

const accepted = (at: string, ...span: [number, number]) => operation('validate', at, span, 'accepted')
const refused = (at: string, ...span: [number, number]) => operation('validate', at, span, 'refused')
const logout = (outcome: Operation['outcome'], at: string, ...span: [number, number]) =>
  operation('logout', at, span, outcome)
/** Issues another token of the customer. */
const login = (outcome: Operation['outcome'], ...span: [number, number]): Operation => ({
  ...operation('login', 'a', span, outcome),
  token: 'u',
})
/** Issues the token. */
const issue = (...span: [number, number]) => operation('login', 'a', span, 'accepted')
const update = (outcome: Operation['outcome'], ...span: [number, number]) =>
  operation('update', 'database', span, outcome)

const GOOD: Readonly<Record<string, readonly Operation[]>> = {
  'nothing happened': [],
  'a token that is never revoked is accepted': [accepted('a', 0, 1), accepted('b', 5000, 5001)],
  'a logout: refused everywhere afterwards': [
    accepted('a', 0, 1),
    logout('accepted', 'a', 10, 20),
    refused('a', 21, 22),
    refused('b', 21, 22),
  ],
  'one instance refuses the token before the acknowledgement, and another one accepts it later': [
    logout('accepted', 'a', 10, 900),
    refused('a', 12, 13),
    accepted('b', 14, 15),
  ],
  'a validation that began before the acknowledgement is accepted after it': [
    logout('accepted', 'a', 10, 20),
    accepted('b', 19, 5000),
  ],
  'a validation that ended after the revocation began is refused': [
    refused('b', 0, 11),
    logout('accepted', 'a', 10, 20),
  ],
  'a logout without a response took effect later, or never did': [
    logout('unknown', 'a', 10, 20),
    accepted('a', 5000, 5001),
    refused('a', 9000, 9001),
  ],
  'a refusal that began before another one ended is accepted there': [
    logout('unknown', 'a', 10, 20),
    refused('b', 30, 40),
    accepted('b', 39, 50),
  ],
  'a validation without a response proves nothing': [
    operation('validate', 'a', [0, 1], 'unknown'),
    logout('accepted', 'a', 10, 20),
    operation('validate', 'a', [30, 31], 'unknown'),
  ],
  'a change by another program is applied within a second': [
    update('accepted', 10, 20),
    accepted('a', 1019, 1021),
  ],
  'one of two logouts is refused': [logout('accepted', 'a', 10, 20), logout('refused', 'b', 11, 13)],
  'of two logins at once either may have replaced the other': [
    issue(0, 10),
    login('accepted', 5, 12),
    accepted('b', 20, 21),
  ],
  'a login before the one that issued it replaced an earlier token': [
    login('accepted', 0, 5),
    issue(10, 20),
    accepted('b', 30, 31),
  ],
  'a login without a response replaced it later': [
    login('unknown', 0, 5),
    issue(10, 20),
    accepted('b', 21, 22),
    refused('b', 30, 31),
  ],
  'a login is accepted of a token that was revoked long before': [
    logout('accepted', 'b', 10, 20),
    login('accepted', 30, 40),
  ],
}

const BAD: Readonly<Record<string, readonly [kind: string, ...history: Operation[]]>> = {
  'accepted after a logout was acknowledged': [
    'accepted after its revocation was acknowledged',
    logout('accepted', 'a', 10, 20),
    accepted('b', 21, 22),
  ],
  'accepted after a login that replaced it was acknowledged': [
    'accepted after its revocation was acknowledged',
    login('accepted', 10, 20),
    accepted('b', 21, 22),
  ],
  'accepted after that login, though a logout was refused meanwhile': [
    'accepted after its revocation was acknowledged',
    login('accepted', 10, 20),
    logout('refused', 'c', 11, 19),
    accepted('b', 21, 22),
  ],
  'accepted after that login, though a logout began later': [
    'accepted after its revocation was acknowledged',
    login('accepted', 10, 20),
    accepted('b', 21, 22),
    logout('unknown', 'b', 23, 24),
  ],
  'refused before its logout began': [
    'refused before anything could have revoked it',
    refused('b', 0, 9),
    logout('accepted', 'a', 10, 20),
  ],
  'refused though nothing revoked it': ['refused before anything could have revoked it', refused('a', 0, 1)],
  'a logout refused though nothing else revoked it': [
    'refused before anything could have revoked it',
    logout('refused', 'a', 0, 1),
  ],
  'two logouts that both found it revoked': [
    'refused before anything could have revoked it',
    logout('refused', 'a', 0, 9),
    logout('refused', 'b', 0, 9),
  ],
  'accepted by the instance that had refused it': [
    'accepted where it had been refused',
    logout('accepted', 'a', 10, 900),
    refused('b', 12, 13),
    accepted('b', 14, 15),
  ],
  'accepted after a logout was refused, while another one waits': [
    'accepted after its revocation was acknowledged',
    logout('accepted', 'a', 10, 900),
    logout('refused', 'b', 12, 13),
    accepted('c', 14, 15),
  ],
  'accepted after a login that found it revoked, while the logout waits': [
    'accepted after its revocation was acknowledged',
    issue(0, 5),
    logout('accepted', 'b', 10, 900),
    login('accepted', 11, 15),
    accepted('c', 20, 21),
  ],
  'accepted after a login that follows a logout without a response': [
    'accepted after its revocation was acknowledged',
    logout('unknown', 'b', 10, 15),
    login('accepted', 11, 20),
    accepted('c', 21, 22),
  ],
  'accepted a second after a change by another program': [
    'accepted a second after its revocation',
    update('accepted', 10, 20),
    accepted('a', 1021, 1022),
  ],
  'accepted a second after another instance refused it': [
    'accepted a second after its revocation',
    logout('unknown', 'a', 10, 20),
    refused('a', 30, 40),
    accepted('b', 1041, 1042),
  ],
  'two logouts at once that both revoked it': [
    'revoked once more',
    logout('accepted', 'a', 10, 20),
    logout('accepted', 'b', 11, 21),
  ],
  'a logout and a change by another program that both revoked it': [
    'revoked once more',
    update('accepted', 10, 20),
    logout('accepted', 'b', 11, 21),
  ],
  'a logout of a token that a login had replaced': [
    'revoked once more',
    login('accepted', 10, 20),
    logout('accepted', 'b', 21, 22),
  ],
  'a logout of a token that another instance had refused': [
    'revoked once more',
    logout('unknown', 'a', 10, 20),
    refused('a', 30, 40),
    logout('accepted', 'b', 41, 50),
  ],
}

type Checker = (operations: Iterable<Operation>) => readonly Anomaly[]

/** The bad histories whose anomaly a checker does not find. */
function missesOf(check: Checker): string[] {
  const missed = Object.entries(BAD).filter(([, [kind, ...history]]) => {
    const found = check(history)
    return found.length === 0 || found.some((anomaly) => anomaly.kind !== kind)
  })
  return missed.map(([name]) => name)
}

describe('The checker of histories', () => {
  for (const [name, history] of Object.entries(GOOD)) {
    test(`finds no anomaly: ${name}`, () => assert.deepEqual(anomaliesIn(history), []))
  }

  for (const name of Object.keys(BAD)) {
    test(`finds the anomaly: ${name}`, () => assert.ok(!missesOf(anomaliesIn).includes(name)))
  }

  test('would fail this test if it always reported no anomaly', () => {
    assert.deepEqual(
      missesOf(() => []),
      Object.keys(BAD),
    )
  })

  test('finds the same anomaly in any order of the operations', () => {
    for (const [kind, ...history] of Object.values(BAD)) {
      const kinds = anomaliesIn(history.toReversed()).map((anomaly) => anomaly.kind)
      assert.deepEqual([...new Set(kinds)], [kind])
    }
  })

  test('treats the tokens of logouts and the customers of logins separately', () => {
    const later = accepted('b', 21, 22)
    assert.deepEqual(anomaliesIn([logout('accepted', 'a', 10, 20), { ...later, token: 'another' }]), [])
    assert.deepEqual(anomaliesIn([login('accepted', 10, 20), { ...later, customer: 'another' }]), [])
  })

  test('reports each anomaly of an operation once, with the operation that it contradicts', () => {
    const history = [logout('accepted', 'a', 10, 20), refused('b', 21, 22), accepted('b', 2000, 2000.25)]
    assert.deepEqual(anomaliesIn(history).map(shownAnomaly), [
      'token t, accepted after its revocation was acknowledged: validate at b from 2000.0 to 2000.3 ms was accepted, ' +
        'but logout at a from 10.0 to 20.0 ms was accepted',
    ])
    assert.deepEqual(anomaliesIn([refused('a', 0, 1)]).map(shownAnomaly), [
      'token t, refused before anything could have revoked it: validate at a from 0.0 to 1.0 ms was refused',
    ])
  })

  test('reports no anomaly of a correct register', () => {
    fc.assert(
      fc.property(validHistories(), (history) => {
        assert.deepEqual(anomaliesIn(history).map(shownAnomaly), [])
      }),
      { numRuns: 2000 },
    )
  })

  // A quadratic comparison would take hours.
  test('reads a token with many operations in linear time', () => {
    const history = Array.from({ length: 200_000 }, (_, i) => refused('b', 30 + i, 31 + i))
    assert.deepEqual(anomaliesIn([logout('accepted', 'a', 10, 20), ...history]), [])
  })
})

test('a history is parsed as it was written, with the times of its calls', async () => {
  const folder = await temporaryFolder()
  try {
    const file = join(folder.path, 'history.ndjson')
    const history = openHistory(file)
    const beganMs = performance.now()
    for (let i = 0; i < 1001; i++) {
      const what = { customer: 'c', token: `${i}`, does: 'validate', at: 'a' } as const
      assert.equal(await history.record(what, async () => 'refused'), 'refused')
    }
    const endedMs = performance.now()
    assert.equal(history.size(), 1001)
    history.close()

    const operations = await readHistory(file)
    assert.deepEqual(
      operations.map(({ token }) => token),
      Array.from({ length: 1001 }, (_, i) => `${i}`),
    )
    let lastMs = beganMs
    for (const { does, at, invokedMs, returnedMs, outcome } of operations) {
      assert.deepEqual([does, at, outcome], ['validate', 'a', 'refused'])
      assert.ok(lastMs <= invokedMs && invokedMs <= returnedMs && returnedMs <= endedMs)
      lastMs = returnedMs
    }
  } finally {
    folder.remove()
  }
})

/**
 * Histories of one token that a logout revokes. Each instance learns of it at its own time: before the acknowledgement,
 * and within a lease of the commit.
 */
function validHistories(): fc.Arbitrary<Operation[]> {
  const moment = fc.integer({ min: 0, max: 4000 })
  return fc
    .record({
      invokedMs: moment,
      untilCommitMs: fc.integer({ min: 0, max: 500 }),
      untilKnownMs: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 0, max: LEASE_MS }), {
        noNullPrototype: true,
      }),
      hasResponse: fc.boolean(),
      validations: fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), moment, moment, moment)),
    })
    .map(({ invokedMs, untilCommitMs, untilKnownMs, hasResponse, validations }) => {
      const committedMs = invokedMs + untilCommitMs
      const knownMs = (at: string) => committedMs + (untilKnownMs[at] ?? 0)
      const acknowledgedMs = Math.max(...['a', 'b', 'c'].map(knownMs))
      const span: [number, number] = [invokedMs, hasResponse ? acknowledgedMs : invokedMs]
      return [
        logout(hasResponse ? 'accepted' : 'unknown', 'a', ...span),
        ...validations.map(([at, ...moments]) => {
          const [fromMs = 0, looksMs = 0, toMs = 0] = moments.sort((one, other) => one - other)
          return looksMs < knownMs(at) ? accepted(at, fromMs, toMs) : refused(at, fromMs, toMs)
        }),
      ]
    })
}
