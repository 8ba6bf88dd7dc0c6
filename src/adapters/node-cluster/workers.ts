import cluster, { type Worker } from 'node:cluster'
import { OperatorError } from '../../lib/operator-error.ts'
import { ordersToWorkers } from './orders.ts'
import { type Questions, questions } from './questions.ts'

/** An event for the log. */
export interface WorkersEvent {
  readonly kind: 'ended' | 'started'
  readonly detail: string
}

/** Processes that serve one address together. */
export interface Workers {
  /** Sends each worker an order; resolves when every worker has acknowledged it or has ended. */
  tell(order: object): Promise<void>
  /** Asks each serving worker; resolves with the combined response. */
  ask(question: string): Promise<unknown>
  /** Asks each worker to drain and end, for `reason`; resolves when all have ended. After `withinMs` they are killed. */
  stop(reason: string, withinMs: number): Promise<void>
  /** Kills all workers at once. */
  kill(): void
}

/** A worker ended before it served. The worker itself has logged why. */
class WorkerEnded extends OperatorError {
  override readonly name = 'WorkerEnded'
}

const SHORTEST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000
/** A worker that ended earlier is replaced after a pause, because it may end again. */
const PROVEN_MS = 10_000

/**
 * Starts `count` workers, which run this same program with `env` added to the environment, and replaces each that ends
 * unexpectedly. Resolves when all of them listen, or with null if `abandoned` resolved first. Rejects when a worker ends
 * during the start. In both of these cases no worker is left running.
 */
export async function startWorkers({
  count,
  env,
  abandoned,
  onEvent,
  together,
}: {
  readonly count: number
  readonly env: Readonly<Record<string, string>>
  /** Cancels the start. */
  readonly abandoned: Promise<unknown>
  readonly onEvent: (event: WorkersEvent) => void
  /** Combines responses to one question, by worker id; undefined stands for a worker that did not respond in time. */
  readonly together: (responses: ReadonlyMap<number, unknown>) => Promise<unknown>
}): Promise<Workers | null> {
  const workers = new Set<Worker>()
  const serving = new Map<Worker, Questions>()
  const asked = new Map<string, Promise<unknown>>()
  const pauses = new Set<NodeJS.Timeout>()
  const orders = ordersToWorkers()
  let isStopping = false
  let failures = 0
  let whenAllEnded = () => {}

  try {
    const first = () => new Promise<unknown>((resolve, reject) => start(resolve, reject))
    const all = Promise.all(Array.from({ length: count }, first))
    const isServing = await Promise.race([all.then(() => true), abandoned.then(() => false)])
    if (!isServing) {
      await endAll()
      return null
    }
  } catch (error) {
    await endAll()
    throw error
  }

  return {
    kill,
    // Also workers that are still starting: they may have read the previous settings.
    tell: (order) => orders.tell(workers, order),
    ask,
    async stop(reason, withinMs) {
      stopReplacing()
      for (const worker of workers) {
        if (serving.has(worker)) end(worker, reason)
        // It serves no client yet, and may not receive messages.
        else worker.process.kill('SIGKILL')
      }
      // A worker that hangs does not react to messages.
      const late = setTimeout(kill, withinMs)
      await allEnded()
      clearTimeout(late)
    },
  }

  async function endAll(): Promise<void> {
    stopReplacing()
    kill()
    await allEnded()
  }

  function stopReplacing(): void {
    isStopping = true
    for (const wait of pauses) clearTimeout(wait)
  }

  /** Concurrent equal questions share one request (single-flight). */
  function ask(question: string): Promise<unknown> {
    const asking = asked.get(question) ?? askAll(question).finally(() => asked.delete(question))
    asked.set(question, asking)
    return asking
  }

  async function askAll(question: string): Promise<unknown> {
    const responses = await Promise.all(
      [...serving].map(
        async ([{ id }, talk]) => [id, await talk.ask(question).catch(() => undefined)] as const,
      ),
    )
    return together(new Map(responses))
  }

  function allEnded(): Promise<void> {
    return new Promise((resolve) => {
      whenAllEnded = resolve
      if (workers.size === 0) resolve()
    })
  }

  /** Starts a worker. After it has served once, it is replaced whenever it ends. */
  function start(served: (pid?: number) => void, failed: (error: WorkerEnded) => void): void {
    const worker = forked(failed)
    if (worker !== null) supervise(worker, served, failed)
  }

  function supervise(
    worker: Worker,
    served: (pid?: number) => void,
    failed: (error: WorkerEnded) => void,
  ): void {
    const { pid } = worker.process
    const beganMs = performance.now()
    workers.add(worker)
    // A worker that has just ended does not receive it.
    const talk = questions((message) => worker.send(message, () => {}), ask)
    worker.once('listening', () => {
      serving.set(worker, talk)
      served(pid)
    })
    worker.on('message', (message) => {
      orders.heard(worker, message)
      talk.heard(message)
    })
    worker.once('exit', (code, signal) => ended(signal ?? `exit code ${code}`))
    // If the system could not start the process, there is no exit event. The error of a lost message has no meaning.
    worker.on('error', ({ message }) => {
      if (pid === undefined) ended(message)
    })

    function ended(cause: string): void {
      workers.delete(worker)
      orders.gone(worker)
      const hasServed = serving.delete(worker)
      if (workers.size === 0) whenAllEnded()
      if (isStopping) return
      if (!hasServed) {
        failed(new WorkerEnded(`A worker ended before it served: ${cause}.`))
        return
      }
      failures = performance.now() - beganMs < PROVEN_MS ? failures + 1 : 0
      replace(`Process ${pid} ended: ${cause}.`)
    }
  }

  /** The system reports some failures to fork by an event, and others by an exception. */
  function forked(failed: (error: WorkerEnded) => void): Worker | null {
    try {
      return cluster.fork(env)
    } catch (error) {
      failed(new WorkerEnded(`No worker could be started: ${(error as Error).message}`))
      return null
    }
  }

  function replace(ended: string): void {
    onEvent({ kind: 'ended', detail: ended })
    const pauseMs = failures === 0 ? 0 : Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** failures)
    const wait = setTimeout(() => {
      pauses.delete(wait)
      start(
        (pid) => onEvent({ kind: 'started', detail: `Process ${pid} serves in its place.` }),
        ({ message }) => {
          failures += 1
          replace(message)
        },
      )
    }, pauseMs)
    pauses.add(wait)
  }

  function kill(): void {
    for (const worker of workers) worker.process.kill('SIGKILL')
  }
}

function end(worker: Worker, reason: string): void {
  // A worker that has just ended does not receive it.
  worker.send({ stop: reason }, () => {})
}
