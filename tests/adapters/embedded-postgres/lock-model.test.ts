import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { acquire } from '../../../src/adapters/embedded-postgres/linked-lock.ts'
import { type Acquire, exploreLock } from '../../support/lock-model.ts'

const EXPLORATIONS = [
  { processes: 3, kills: 1, stale: [] },
  { processes: 3, kills: 1, stale: ['lock'] },
  { processes: 2, kills: 2, stale: ['lock', 'lock+', 'lock++'] },
]

/** Several processes remove the same stale name. */
const withoutGuard: Acquire = async (names, name) => {
  for (;;) {
    const state = await names.find(name)
    if (state === 'held') return undefined
    if (state === 'stale') await names.remove(name)
    const lock = await names.publish(name)
    if (lock !== null) return lock
  }
}

/** Removes under the guard what was stale before the guard was held. */
const withoutSecondCheck: Acquire = async (names, name) => {
  for (;;) {
    const state = await names.find(name)
    if (state === 'held') return undefined
    if (state === 'stale') {
      const guard = await acquire(names, `${name}+`)
      if (guard === undefined) return undefined
      await names.remove(name)
      await guard.release()
    }
    const lock = await names.publish(name)
    if (lock !== null) return lock
  }
}

/** Takes the guard of a process that was killed for the guard of a living one. */
const withoutStaleGuards: Acquire = async (names, name) => {
  const state = await names.find(name)
  if (state === 'held') return undefined
  if (state === 'stale') {
    const guard = await names.publish(`${name}+`)
    if (guard === null) return undefined
    if ((await names.find(name)) === 'stale') await names.remove(name)
    await guard.release()
  }
  return (await names.publish(name)) ?? undefined
}

describe('In every order of steps and kills, the lock of the data folder', () => {
  for (const exploration of EXPLORATIONS)
    test(`has one holder, and is free in the end: ${JSON.stringify(exploration)}`, async (t) => {
      const { states, violation } = await exploreLock(acquire, exploration)
      assert.equal(violation, null)
      assert.ok(states > 100)
      t.diagnostic(`${states} states`)
    })

  for (const [name, mutant, expected] of [
    ['without a guard', withoutGuard, /removes a name that is held/],
    ['without a second check', withoutSecondCheck, /removes a name that is held/],
    ['that waits for the guards of killed processes', withoutStaleGuards, /cannot hold the lock/],
  ] as const)
    test(`is found to be broken when it is one ${name}`, async () => {
      const found = await Promise.all(EXPLORATIONS.map((exploration) => exploreLock(mutant, exploration)))
      assert.match(found.map(({ violation }) => violation).join('\n'), expected)
    })
})
