import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type DatabaseStatus, debouncedReadiness } from '../../src/application/jobs/readiness.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'

const WELL: DatabaseStatus = { reachable: true, current: true }
const ILL: DatabaseStatus = { reachable: false, current: false }

/** A database with a settable status, and the readiness that checks it. */
function createReadiness(first: DatabaseStatus) {
  const clock = movableClock()
  const database = { state: first, checks: 0 }
  const readiness = debouncedReadiness(async () => {
    database.checks++
    return database.state
  }, clock)
  return {
    clock,
    database,
    readiness,
    ready: async () => (await readiness.ask()).ready,
    /** Advances the clock in steps of its check interval. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= 50) {
        clock.advance(50)
        await new Promise(setImmediate)
      }
    },
  }
}

describe('Readiness', () => {
  test('turns ready at the first successful check', async () => {
    const { database, ready } = createReadiness(ILL)
    assert.equal(await ready(), false)
    database.state = { reachable: true, current: false }
    assert.equal(await ready(), false)
    database.state = WELL
    assert.equal(await ready(), true)
  })

  test('turns unready after a second of failures and ready after a second without failures', async () => {
    const { database, ready, pass, readiness } = createReadiness(WELL)
    assert.equal(await ready(), true)
    for (const state of [ILL, WELL]) {
      database.state = state
      const { ready: before, checkStatus } = await readiness.ask()
      assert.deepEqual(
        [before, checkStatus],
        [state !== WELL, state],
        'the result of the check is reported at once',
      )
      await pass(600)
      assert.equal(await ready(), state !== WELL)
      await pass(600)
      const { checks } = database
      assert.equal(await ready(), state === WELL)
      assert.ok(checks >= 4, 'it checks without being asked')
    }
  })

  test('does not change while the database flaps', async () => {
    for (const start of [WELL, ILL]) {
      const { database, ready, pass } = createReadiness(WELL)
      await ready()
      database.state = start
      await ready()
      await pass(1500)
      const before = await ready()
      for (let turn = 0; turn < 20; turn++) {
        database.state = turn % 2 === 0 ? ILL : WELL
        assert.equal(await ready(), before, `turn ${turn}`)
        await pass(600)
      }
    }
  })

  test('shares one check among concurrent requests and stops checking when closed', async () => {
    const { database, readiness, pass } = createReadiness(WELL)
    await Promise.all(Array.from({ length: 100 }, () => readiness.ask()))
    assert.equal(database.checks, 1)
    database.state = ILL
    await readiness.ask()
    readiness.close()
    await pass(5000)
    assert.equal(database.checks, 2)
  })

  test('repeats no check that was in progress when it was closed', async () => {
    const { database, readiness, pass } = createReadiness(WELL)
    await readiness.ask()
    database.state = ILL
    const pending = readiness.ask()
    readiness.close()
    await pending
    await pass(5000)
    assert.equal(database.checks, 2)
  })
})
