import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  hashingThreads,
  parseThreadPoolSize,
  workerThreadPool,
} from '../../../src/adapters/config/hashing-threads.ts'
import { read } from './reading.ts'

describe('The thread pool', () => {
  test('has the size that libuv reads from the environment', () => {
    for (const [text, size] of [
      [undefined, 4],
      ['', 1],
      ['0', 1],
      ['many', 1],
      ['1', 1],
      ['9', 9],
      ['9 threads', 9],
      ['1024', 1024],
      ['5000', 1024],
      ['-1', 1024],
    ] as const) {
      assert.equal(parseThreadPoolSize(text), size, text)
    }
    assert.equal(read({ UV_THREADPOOL_SIZE: '12' }).configuration.threadPoolSize, 12)
  })

  test('ignores the .env file, which libuv does not read', () => {
    assert.equal(read({}, { dotEnv: 'UV_THREADPOOL_SIZE=12' }).configuration.threadPoolSize, 4)
  })
})

describe('The number of hashing threads', () => {
  const standard = { hashingConcurrency: null, workers: 1, threadPoolSize: 4 }

  test('is one less than that of the processors, for all workers together, and at least one for each', () => {
    assert.equal(hashingThreads(standard, 1), 1)
    assert.equal(hashingThreads(standard, 2), 1)
    assert.equal(hashingThreads(standard, 4), 3)
    assert.equal(hashingThreads({ ...standard, workers: 2 }, 5), 2)
    assert.equal(hashingThreads({ ...standard, workers: 2 }, 4), 1)
    assert.equal(hashingThreads({ ...standard, workers: 8 }, 4), 1)
  })

  test('is set by the operator for each worker', () => {
    assert.equal(hashingThreads({ ...standard, hashingConcurrency: 3 }, 1), 3)
    assert.equal(hashingThreads({ ...standard, hashingConcurrency: 2, workers: 4 }, 1), 2)
  })

  test('leaves one thread of a larger pool for files and DNS', () => {
    assert.equal(hashingThreads(standard, 16), 3)
    assert.equal(hashingThreads({ ...standard, hashingConcurrency: 8 }, 16), 3)
    assert.equal(hashingThreads({ ...standard, hashingConcurrency: 8, threadPoolSize: 9 }, 1), 8)
    assert.equal(hashingThreads({ ...standard, threadPoolSize: 1 }, 16), 1)
  })

  test('is reported to the operator when it is less than requested', () => {
    const { warnings } = read({ HASHING_CONCURRENCY: '8' })
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', /^HASHING_CONCURRENCY .* 3 at once\. Set UV_THREADPOOL_SIZE=9 in /)
    assert.deepEqual(read({ HASHING_CONCURRENCY: '3' }).warnings, [])
    assert.deepEqual(read({ HASHING_CONCURRENCY: '8', UV_THREADPOOL_SIZE: '9' }).warnings, [])
    assert.deepEqual(read({ HASHING_CONCURRENCY: '8', WORKERS: '2' }).warnings, [])
    assert.deepEqual(read({}).warnings, [])
    assert.match(read({ UV_THREADPOOL_SIZE: '1' }).warnings.join(), /^UV_THREADPOOL_SIZE is 1: [^\n]+$/)
  })

  test('is always available in workers, whose pools are never smaller than the operator’s setting', () => {
    assert.deepEqual(workerThreadPool({ ...standard, workers: 2 }, 17), { UV_THREADPOOL_SIZE: '9' })
    assert.deepEqual(workerThreadPool({ ...standard, hashingConcurrency: 8, workers: 2 }, 2), {
      UV_THREADPOOL_SIZE: '9',
    })
    assert.deepEqual(workerThreadPool({ ...standard, workers: 2 }, 2), { UV_THREADPOOL_SIZE: '4' })
    assert.deepEqual(workerThreadPool({ ...standard, workers: 2, threadPoolSize: 20 }, 16), {
      UV_THREADPOOL_SIZE: '20',
    })
  })
})
