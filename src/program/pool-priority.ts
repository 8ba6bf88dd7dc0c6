import { readlink } from 'node:fs/promises'
import { getPriority, setPriority } from 'node:os'

/** As of nice(1): where both need one processor, a thread whose niceness is 5 higher gets a third of the other's time. */
const ADDED_NICENESS = 5
const MAX_NICENESS = 19
/** Idle threads take turns, so that a few attempts reach all. */
const MAX_ATTEMPTS = 100

/**
 * Lowers the priority of the threads of libuv's pool, on which passwords are hashed, so that requests come first. Only Linux has
 * a priority for each thread. There, `/proc/thread-self` names the thread that reads it, and asynchronous reads run on the
 * threads of the pool; no other thread is changed. DNS shares the pool and has the same priority.
 */
export async function lowerPoolPriority(poolSize: number): Promise<void> {
  const threads = new Set<number>()
  try {
    for (let attempt = 0; threads.size < poolSize && attempt < MAX_ATTEMPTS; attempt++) {
      const links = Array.from({ length: poolSize }, () => readlink('/proc/thread-self'))
      for (const link of await Promise.all(links)) threads.add(threadId(link))
    }
    for (const thread of threads)
      setPriority(thread, Math.min(MAX_NICENESS, getPriority(thread) + ADDED_NICENESS))
  } catch {
    // The system has or permits no such priority.
  }
}

/** Throws unless the thread belongs to this process: `/proc` may be that of another namespace. */
function threadId(link: string): number {
  const [processId, , thread] = link.split('/')
  if (Number(processId) !== process.pid || Number(thread) === process.pid) throw new Error(link)
  return Number(thread)
}
