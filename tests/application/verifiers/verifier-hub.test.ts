import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Invalidation, ProcessLease } from '../../../src/application/ports/invalidations.ts'
import { VerifierHub } from '../../../src/application/verifiers/verifier-hub.ts'
import type { VerifierConnection } from '../../../src/application/verifiers/verifier-session.ts'
import { movableClock } from '../../../src/testing/movable-clock.ts'

const CONNECTION: VerifierConnection = {
  name: 'v',
  service: 'billing',
  requester: { requestId: 'r', address: '192.0.2.7' },
  isAllowed: () => true,
  send() {},
  close() {},
}

/** A hub on a process that holds a whole lease until a test takes it. */
function openHub() {
  const clock = movableClock()
  const events: string[] = []
  const process = {
    lease: (): ProcessLease | null => ({ leftMs: 800.9, endMs: clock.monotonicMs() + 1000 }),
    apply: (_: Invalidation) => {},
    settle: (_: () => void) => {},
  }
  const hub = new VerifierHub(
    {
      subscribe(apply) {
        process.apply = apply
      },
      isCurrent: () => process.lease() !== null,
      lease: () => process.lease(),
      onSettle(settle) {
        process.settle = settle
      },
      publish: async () => {},
    },
    clock,
    {
      onConnected: ({ name }) => events.push(`${name} connected`),
      onDisconnected: ({ name }, reason) => events.push(`${name} disconnected: ${reason}`),
      onAcknowledged: (tookMs) => events.push(`acknowledged after ${tookMs}`),
    },
  )
  return {
    clock,
    events,
    process,
    hub,
    /** Connects a verifier. `lines` returns what it was sent since the last call. */
    connect(name = 'v') {
      const sent: string[] = []
      let isClosed = false
      const connection = {
        ...CONNECTION,
        name,
        send: (line: string) => sent.push(line),
        close() {
          isClosed = true
        },
      }
      const session = hub.open(connection)
      return { ...session, lines: () => sent.splice(0), isClosed: () => isClosed }
    },
    /** Asks, and returns whether the change is settled. */
    ask() {
      let isSettled = false
      process.settle(() => {
        isSettled = true
      })
      return () => isSettled
    },
  }
}

describe('The hub of verifiers', () => {
  it('responds to a heartbeat with what is left of the lease of the process, or none', () => {
    const { connect, process } = openHub()
    const verifier = connect()
    verifier.beat(1)
    process.lease = () => null
    verifier.beat(2)
    assert.deepEqual(verifier.lines(), ['lease 1 800', 'wait 2'])
  })

  it('does not register a verifier whose connection cannot be recorded', () => {
    const clock = movableClock()
    const hub = new VerifierHub({ subscribe() {}, isCurrent: () => true, publish: async () => {} }, clock, {
      onConnected() {
        throw new Error('full')
      },
    })
    assert.throws(() => hub.open(CONNECTION), /full/)
    assert.equal(hub.size, 0)
  })

  it('grants nothing on invalidations without leases', () => {
    const clock = movableClock()
    const hub = new VerifierHub({ subscribe() {}, isCurrent: () => true, publish: async () => {} }, clock)
    const lines: string[] = []
    const connection = { ...CONNECTION, send: (line: string) => lines.push(line) }
    hub.open(connection).beat(1)
    assert.deepEqual(lines, ['wait 1'])
  })

  it('forwards every invalidation from the opening of a connection on', () => {
    const { connect, process } = openHub()
    process.apply({ kind: 'everything' })
    const verifier = connect()
    process.apply({ kind: 'digest', digest: 'ab' })
    process.apply({ kind: 'customer', customerId: 'c1' })
    process.apply({ kind: 'everything' })
    assert.deepEqual(verifier.lines(), ['digest ab', 'customer c1', 'forget'])
  })

  it('settles at once when no verifier may hold a lease', () => {
    const { connect, ask, clock } = openHub()
    assert.equal(ask()(), true)
    const verifier = connect()
    assert.equal(ask()(), true)
    verifier.beat(1)
    clock.advance(1000)
    assert.equal(ask()(), true)
    assert.deepEqual(verifier.lines(), ['lease 1 800'])
  })

  it('settles when each verifier has acknowledged', () => {
    const { connect, ask, events, clock } = openHub()
    const [one, two] = [connect('one'), connect('two')]
    for (const { beat, lines } of [one, two]) {
      beat(1)
      lines()
    }
    const isFirst = ask()
    const isSecond = ask()
    assert.deepEqual(
      [one.lines(), two.lines()],
      [
        ['ask 1', 'ask 2'],
        ['ask 1', 'ask 2'],
      ],
    )
    clock.advance(7)
    one.seen(1)
    assert.equal(isFirst(), false)
    // An acknowledgement covers the asks before it.
    two.seen(2)
    assert.deepEqual([isFirst(), isSecond()], [true, false])
    one.seen(2)
    assert.equal(isSecond(), true)
    // Nothing was asked any more.
    one.seen(3)
    assert.deepEqual(events.slice(2), Array(3).fill('acknowledged after 7'))
  })

  it('settles when a verifier says bye, and counts nothing that comes later', () => {
    const { connect, ask, hub } = openHub()
    const verifier = connect()
    verifier.beat(1)
    const isSettled = ask()
    verifier.bye()
    verifier.bye()
    assert.equal(isSettled(), true)
    assert.equal(hub.size, 0)
    verifier.lost()
    assert.equal(ask()(), true)
  })

  it('waits for the end of the lease of a connection that was lost, before or after the ask', () => {
    for (const isLostFirst of [true, false]) {
      const { connect, ask, clock } = openHub()
      const verifier = connect()
      verifier.beat(1)
      clock.advance(400)
      if (isLostFirst) verifier.lost()
      const isSettled = ask()
      if (!isLostFirst) verifier.lost()
      // Bytes that were on the way change nothing.
      verifier.seen(1)
      verifier.beat(2)
      clock.advance(599)
      assert.equal(isSettled(), false)
      clock.advance(1)
      assert.equal(isSettled(), true)
    }
  })

  it('waits for the end of a lease, margin included, and then disconnects a verifier that had the time', () => {
    const { connect, ask, clock, events } = openHub()
    const verifier = connect()
    verifier.beat(1)
    const isSettled = ask()
    clock.advance(999)
    assert.deepEqual([isSettled(), verifier.isClosed()], [false, false])
    clock.advance(1)
    assert.deepEqual([isSettled(), verifier.isClosed()], [true, true])
    assert.deepEqual(events, ['v connected', 'v disconnected: hung'])
    // It connects again, and gets no lease for ten seconds.
    const again = connect()
    again.beat(1)
    clock.advance(10_000)
    again.beat(2)
    assert.deepEqual(again.lines(), ['wait 1', 'lease 2 800'])
  })

  it('keeps a verifier whose lease ended soon after the ask', () => {
    const { connect, ask, clock } = openHub()
    const verifier = connect()
    verifier.beat(1)
    clock.advance(800)
    const isSettled = ask()
    clock.advance(200)
    assert.deepEqual([isSettled(), verifier.isClosed()], [true, false])
  })

  it('renews no lease while an acknowledgement is late', () => {
    const { connect, ask, clock } = openHub()
    const verifier = connect()
    verifier.beat(1)
    ask()
    clock.advance(250)
    verifier.beat(2)
    clock.advance(1)
    verifier.beat(3)
    assert.deepEqual(verifier.lines(), ['lease 1 800', 'ask 1', 'lease 2 800', 'wait 3'])
  })

  it('disconnects a verifier that is late three times in a minute', () => {
    const { connect, ask, clock } = openHub()
    const verifier = connect()
    for (let n = 1; n <= 3; n++) {
      assert.equal(verifier.isClosed(), false)
      verifier.beat(n)
      ask()
      clock.advance(251)
      verifier.seen(n)
    }
    assert.equal(verifier.isClosed(), true)
  })

  it('replaces the earlier connection of a verifier, whose lease is waited out', () => {
    const { connect, ask, clock, hub, events } = openHub()
    const other = connect('w')
    const earlier = connect()
    earlier.beat(1)
    const later = connect()
    assert.deepEqual([earlier.isClosed(), other.isClosed(), hub.size], [true, false, 2])
    const isSettled = ask()
    assert.deepEqual(later.lines(), [])
    clock.advance(1000)
    assert.equal(isSettled(), true)
    assert.equal(events.includes('v disconnected: hung'), false)
  })

  it('disconnects on request, once', () => {
    const { connect, hub, events } = openHub()
    const [one, two] = [connect('one'), connect('two')]
    hub.disconnect(({ name }) => name === 'two', 'revoked')
    two.disconnect('malformed')
    assert.deepEqual([one.isClosed(), two.isClosed()], [false, true])
    assert.deepEqual(events.slice(2), ['two disconnected: revoked'])
  })

  it('leaves when no verifier uses a validation any more, and grants nothing meanwhile', async () => {
    const { connect, hub } = openHub()
    const verifier = connect()
    verifier.beat(1)
    assert.equal(hub.isLeaving, false)
    let hasLeft = false
    const leaving = hub.leave().then(() => {
      hasLeft = true
    })
    verifier.beat(2)
    await Promise.resolve()
    assert.deepEqual([hub.isLeaving, hasLeft], [true, false])
    assert.deepEqual(verifier.lines(), ['lease 1 800', 'leave', 'ask 1', 'wait 2'])
    verifier.bye()
    await leaving
  })

  it('lists the connected verifiers with the time of their last heartbeat', () => {
    const { connect, hub, clock } = openHub()
    const startMs = clock.nowMs()
    connect('one')
    clock.advance(10)
    const two = connect('two')
    clock.advance(10)
    two.beat(1)
    assert.deepEqual(hub.list(), [
      { name: 'one', lastSeenMs: startMs },
      { name: 'two', lastSeenMs: startMs + 20 },
    ])
  })
})
