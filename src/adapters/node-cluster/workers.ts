import cluster, { type Worker } from 'node:cluster'

/** Something that an operator may want to read in the log. */
export interface WorkersEvent {
  readonly kind: 'ended' | 'started'
  readonly detail: string
}

/** Processes that serve one address together. */
export interface Workers {
  /** Asks each to drain and end, for the reason that it is given; resolves when all have. */
  stop(reason: string): Promise<void>
  /** Ends them at once. */
  kill(): void
}

/** A worker ended while all of them were starting; what it had to say it has said itself. */
class WorkerEnded extends Error {
  override readonly name = 'WorkerEnded'
  /** The message is written for operators and is shown as it is. */
  readonly forOperators = true
}

const SHORTEST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000
/** A worker that lasted for less may end again as soon. */
const PROVEN_MS = 10_000

/** Whether this process is one of the workers. */
export const isWorker = cluster.isWorker

/**
 * Starts as many workers, which run this same program with `env` besides, and replaces each that ends by itself.
 * Resolves when all of them listen; rejects when one ends before, with all others ended.
 */
export async function startWorkers({
  count,
  env,
  onEvent,
}: {
  readonly count: number
  readonly env: Readonly<Record<string, string>>
  readonly onEvent: (event: WorkersEvent) => void
}): Promise<Workers> {
  const workers = new Set<Worker>()
  const serving = new Set<Worker>()
  const pauses = new Set<NodeJS.Timeout>()
  let isStopping = false
  let failures = 0
  let whenAllEnded = () => {}

  const starting = Array.from({ length: count }, start)
  try {
    await Promise.all(starting.map((worker) => listening(worker)))
  } catch (error) {
    isStopping = true
    kill()
    await allEnded()
    throw error
  }
  for (const worker of workers) replaceWhenItEnds(worker, performance.now())

  return {
    kill,
    stop(reason) {
      isStopping = true
      for (const pause of pauses) clearTimeout(pause)
      for (const worker of workers) {
        if (serving.has(worker)) ask(worker, reason)
        // It serves nobody yet, and may not hear what it is asked.
        else worker.process.kill('SIGKILL')
      }
      return allEnded()
    },
  }

  function allEnded(): Promise<void> {
    return new Promise((resolve) => {
      whenAllEnded = resolve
      if (workers.size === 0) resolve()
    })
  }

  function start(): Worker {
    const worker = cluster.fork(env)
    workers.add(worker)
    worker.once('listening', () => serving.add(worker))
    worker.once('exit', () => {
      workers.delete(worker)
      serving.delete(worker)
      if (workers.size === 0) whenAllEnded()
    })
    return worker
  }

  function replaceWhenItEnds(worker: Worker, beganMs: number): void {
    worker.once('exit', (code, signal) => {
      if (isStopping) return
      onEvent({ kind: 'ended', detail: `Process ${worker.process.pid} ended: ${causeOf(code, signal)}.` })
      failures = performance.now() - beganMs < PROVEN_MS ? failures + 1 : 0
      const pauseMs = failures === 0 ? 0 : Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** failures)
      const pause = setTimeout(() => {
        pauses.delete(pause)
        const next = start()
        replaceWhenItEnds(next, performance.now())
        next.once('listening', () =>
          onEvent({ kind: 'started', detail: `Process ${next.process.pid} serves in its place.` }),
        )
      }, pauseMs)
      pauses.add(pause)
    })
  }

  function kill(): void {
    for (const worker of workers) worker.process.kill('SIGKILL')
  }
}

/**
 * Resolves with the reason why this worker is to drain and end, the first one that comes. One whose primary is gone is
 * ended at once, by node.
 */
export function endOfWorker(): Promise<string> {
  return new Promise((resolve) => {
    process.on('message', (message) => {
      if (isStop(message)) resolve(message.stop)
    })
    // Whoever manages services may send it to each process, beside what the primary asks.
    process.on('SIGTERM', () => resolve('SIGTERM'))
    // A terminal sends these to all processes; what they mean is the primary's to say.
    process.on('SIGINT', () => {}).on('SIGHUP', () => {})
  })
}

function listening(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('listening', () => resolve())
    worker.once('exit', (code, signal) =>
      reject(new WorkerEnded(`A worker ended before it served: ${causeOf(code, signal)}.`)),
    )
  })
}

function causeOf(code: number, signal: string | null): string {
  return signal ?? `exit code ${code}`
}

function ask(worker: Worker, reason: string): void {
  // Of one that has just ended nobody hears it.
  worker.send({ stop: reason }, () => {})
}

function isStop(message: unknown): message is { readonly stop: string } {
  return typeof message === 'object' && message !== null && 'stop' in message
}
