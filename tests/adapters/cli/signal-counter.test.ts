import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSignalCounter } from '../../../src/adapters/cli/signal-counter.ts'

describe('the signals of a process are counted', () => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
    test(`${signal}: repeats within 500 ms count as the first, later ones do not`, async (t) => {
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

  test('another signal is a second one, however soon it comes', () => {
    const count = createSignalCounter()
    assert.equal(count('SIGTERM'), 'first')
    assert.equal(count('SIGINT'), 'second')
    assert.equal(count('SIGTERM'), 'repeat')
  })

  test('a repeat that came while the event loop was blocked is a repeat', async () => {
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
