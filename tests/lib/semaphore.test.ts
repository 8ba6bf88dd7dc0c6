import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createSemaphore, type Semaphore } from '../../src/lib/semaphore.ts'
import { type Deferred, deferred, turn } from '../support/fakes.ts'

/** Works that end when the test says so, by name. */
function works(threads: Semaphore) {
  const begun: string[] = []
  const ends = new Map<string, Deferred<string>>()
  return {
    begun,
    ask(name: string, signal?: AbortSignal): Promise<string> {
      return threads.run(() => {
        begun.push(name)
        const end = deferred<string>()
        ends.set(name, end)
        return end.promise
      }, signal)
    },
    async end(name: string): Promise<void> {
      ends.get(name)?.resolve(name)
      await turn()
    },
    async fail(name: string): Promise<void> {
      ends.get(name)?.reject(new Error(name))
      await turn()
    },
  }
}

describe('A semaphore', () => {
  it('runs a limited number of tasks at once, and the others in the order of their arrival', async () => {
    const { begun, ask, end } = works(createSemaphore(2))
    const results = ['a', 'b', 'c', 'd', 'e'].map((name) => ask(name))
    await turn()
    assert.deepEqual(begun, ['a', 'b'])
    await end('b')
    assert.deepEqual(begun, ['a', 'b', 'c'])
    await end('c')
    assert.deepEqual(begun, ['a', 'b', 'c', 'd'])
    for (const name of ['a', 'd']) await end(name)
    // One is free; of two that come only one may begin.
    results.push(ask('f'), ask('g'))
    assert.deepEqual(begun, ['a', 'b', 'c', 'd', 'e', 'f'])
    for (const name of ['e', 'f', 'g']) await end(name)
    assert.deepEqual(await Promise.all(results), ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
  })

  it('runs no later task before the waiting ones', async () => {
    const { begun, ask, end } = works(createSemaphore(1))
    void ask('a')
    void ask('b')
    await turn()
    void end('a').then(() => {})
    void ask('c')
    await turn()
    assert.deepEqual(begun, ['a', 'b'])
    await end('b')
    assert.deepEqual(begun, ['a', 'b', 'c'])
    await end('c')
  })

  it('releases the slot of a task that failed, also synchronously', async () => {
    const threads = createSemaphore(1)
    const { begun, ask, fail, end } = works(threads)
    const failing = assert.rejects(ask('a'), /a/)
    void ask('b')
    await fail('a')
    await failing
    assert.deepEqual(begun, ['a', 'b'])
    await end('b')
    await assert.rejects(
      threads.run(() => {
        throw new Error('at once')
      }),
      /at once/,
    )
    assert.equal(await threads.run(async () => 1), 1)
  })

  it('never starts a task that aborted while it waited, and moves up the tasks behind it', async () => {
    const { begun, ask, end } = works(createSemaphore(1))
    void ask('a')
    const gone = new AbortController()
    const waiting = ask('b', gone.signal)
    const behind = ask('c')
    const reason = new Error('gone')
    gone.abort(reason)
    await assert.rejects(waiting, (error) => error === reason)
    assert.deepEqual(begun, ['a'])
    await end('a')
    assert.deepEqual(begun, ['a', 'c'])
    await end('c')
    assert.equal(await behind, 'c')
  })

  it('never starts a task that aborted before it arrived', async () => {
    const { begun, ask, end } = works(createSemaphore(1))
    const gone = new AbortController()
    gone.abort(new Error('gone'))
    await assert.rejects(ask('early', gone.signal), /gone/)
    void ask('a')
    await assert.rejects(ask('waiting', gone.signal), /gone/)
    assert.deepEqual(begun, ['a'])
    await end('a')
  })

  it('never starts a task that aborted at any step of its acquisition of a slot', async () => {
    let rejections = 0
    for (let steps = 0; steps < 10; steps++) {
      const threads = createSemaphore(1)
      const first = deferred<void>()
      const gone = new AbortController()
      let begunAfterAbort = false
      void threads.run(() => first.promise)
      const second = threads.run(async () => {
        begunAfterAbort = gone.signal.aborted
      }, gone.signal)
      second.catch(() => rejections++)
      first.resolve()
      for (let step = 0; step < steps; step++) await null
      gone.abort(new Error('gone'))
      await turn()
      assert.equal(begunAfterAbort, false, `${steps} steps`)
      assert.equal(await threads.run(async () => 'free'), 'free')
    }
    assert.ok(rejections > 0 && rejections < 10, `${rejections}`)
  })

  it('lets a running task finish although its signal aborts', async () => {
    const { ask, end } = works(createSemaphore(1))
    const gone = new AbortController()
    const result = ask('a', gone.signal)
    await turn()
    gone.abort(new Error('gone'))
    await end('a')
    assert.equal(await result, 'a')
  })

  it('leaves no listener on the signal', async () => {
    const { ask, end } = works(createSemaphore(1))
    const listeners = new Set<unknown>()
    const signal = new AbortController().signal
    signal.addEventListener = (_: string, listener: unknown) => void listeners.add(listener)
    signal.removeEventListener = (_: string, listener: unknown) => void listeners.delete(listener)
    void ask('a')
    const waited = ask('b', signal)
    await turn()
    assert.equal(listeners.size, 1)
    await end('a')
    assert.equal(listeners.size, 0)
    await end('b')
    assert.equal(await waited, 'b')
  })
})
