import { availableParallelism } from 'node:os'
import type { Configuration } from '../../application/configuration.ts'

/** What of the configuration says how many threads hash passwords. */
type Asked = Pick<Configuration, 'hashingConcurrency' | 'workers' | 'threadPoolSize'>

/** Threads of libuv's pool where `UV_THREADPOOL_SIZE` is this text, read as libuv reads it. */
export function requiredThreadPoolSize(text: string | undefined): number {
  if (text === undefined) return 4
  const threads = Number.parseInt(text, 10) || 1
  return threads < 0 ? 1024 : Math.min(threads, 1024)
}

/** Passwords that this process hashes at once. One thread at least is left for files and names, unless there is only one. */
export function hashingThreads(asked: Asked, processors = availableParallelism()): number {
  return Math.max(1, Math.min(wantedThreads(asked, processors), asked.threadPoolSize - 1))
}

/**
 * The environment of a worker whose pool is large enough. In a process that runs already it is too late: its own
 * program was read by threads of the pool.
 */
export function workerThreadPool(
  asked: Asked,
  processors = availableParallelism(),
): { UV_THREADPOOL_SIZE: string } {
  return { UV_THREADPOOL_SIZE: `${Math.max(asked.threadPoolSize, wantedThreads(asked, processors) + 1)}` }
}

function wantedThreads({ hashingConcurrency, workers }: Asked, processors: number): number {
  return hashingConcurrency ?? Math.max(1, Math.floor(processors / workers))
}
