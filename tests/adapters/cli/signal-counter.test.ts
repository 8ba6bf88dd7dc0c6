import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSignalCounter } from '../../../src/adapters/cli/signal-counter.ts'

describe('The signal counter', () => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
    test(`counts repeats of ${signal} within 500 ms as repeats, and later ones as second`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] })
      const count = createSignalCounter()
      assert.equal(count(signal), 'first')
      assert.equal(count(signal), 'repeat')
      t.mock.timers.tick(499)
      assert.equal(count(signal), 'repeat')
      t.mock.timers.tick(1)
      await new Promise(setImmediate)
      assert.equal(count(signal), 'second')
      assert.equal(count(signal), 'second')
    })

  test('counts another signal as second, however early it arrives', () => {
    const count = createSignalCounter()
    assert.equal(count('SIGTERM'), 'first')
    assert.equal(count('SIGINT'), 'second')
    assert.equal(count('SIGTERM'), 'repeat')
  })

  test('counts a repeat that arrived while the event loop was blocked as a repeat', async () => {
    const count = createSignalCounter()
    const seen: string[] = []
    const listen = (signal: string) => seen.push(count(signal))
    process.on('SIGUSR2', listen)
    process.kill(process.pid, 'SIGUSR2')
    while (seen.length < 1) await sleep(1)
    process.kill(process.pid, 'SIGUSR2')
    for (const endMs = performance.now() + 700; performance.now() < endMs; );
    while (seen.length < 2) await sleep(1)
    process.off('SIGUSR2', listen)
    assert.deepEqual(seen, ['first', 'repeat'])
  })
})
