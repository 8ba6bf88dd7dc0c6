import { availableParallelism } from 'node:os'
import type { Configuration } from '../../application/configuration.ts'

/** The settings that determine the number of hashing threads. */
type HashingSettings = Pick<Configuration, 'hashingConcurrency' | 'workers' | 'threadPoolSize'>

/** Returns the size of libuv's thread pool for this text of `UV_THREADPOOL_SIZE`, parsed as libuv parses it. */
export function parseThreadPoolSize(text: string | undefined): number {
  if (text === undefined) return 4
  const threads = Number.parseInt(text, 10) || 1
  return threads < 0 ? 1024 : Math.min(threads, 1024)
}

/**
 * Returns the number of passwords that this process hashes at once. By default, one processor of the machine stays free for
 * requests. At least one thread is left for files and DNS, unless the pool has only one.
 */
export function hashingThreads(settings: HashingSettings, processors = availableParallelism()): number {
  return Math.max(1, Math.min(wantedThreads(settings, processors), settings.threadPoolSize - 1))
}

/**
 * Returns the environment of a worker whose thread pool is large enough. A running process cannot resize its pool: the
 * pool's threads have already read its program.
 */
export function workerThreadPool(
  settings: HashingSettings,
  processors = availableParallelism(),
): { UV_THREADPOOL_SIZE: string } {
  return {
    UV_THREADPOOL_SIZE: `${Math.max(settings.threadPoolSize, wantedThreads(settings, processors) + 1)}`,
  }
}

function wantedThreads({ hashingConcurrency, workers }: HashingSettings, processors: number): number {
  return hashingConcurrency ?? Math.max(1, Math.floor((processors - 1) / workers))
}
