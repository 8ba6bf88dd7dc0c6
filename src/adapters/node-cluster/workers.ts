import cluster, { type Worker } from 'node:cluster'
import { ordersToWorkers } from './orders.ts'
import { type Questions, questions } from './questions.ts'

/** Something that an operator may want to read in the log. */
export interface WorkersEvent {
  readonly kind: 'ended' | 'started'
  readonly detail: string
}

/** Processes that serve one address together. */
export interface Workers {
  /** Tells each something that can be sent; resolves when every one of them has obeyed, or ended. */
  tell(order: object): Promise<void>
  /** Asks each that serves; answers what their answers come to together. */
  ask(question: string): Promise<unknown>
  /** Asks each to drain and end, for the reason that it is given; resolves when all have, those that take longer by force. */
  stop(reason: string, withinMs: number): Promise<void>
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

/**
 * Starts as many workers, which run this same program with `env` besides, and replaces each that ends by itself.
 * Resolves when all of them listen, or with null if `abandoned` resolved before; rejects when one ends before. In both of
 * these cases none is left.
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
  /** Ends a start that is no longer wanted. */
  readonly abandoned: Promise<unknown>
  readonly onEvent: (event: WorkersEvent) => void
  /** Puts answers to one question together, by the workers' numbers; undefined is of one that gave none in time. */
  readonly together: (answers: ReadonlyMap<number, unknown>) => Promise<unknown>
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
    // Also those that only start: they may have read what was so before.
    tell: (order) => orders.tell(workers, order),
    ask,
    async stop(reason, withinMs) {
      startNoMore()
      for (const worker of workers) {
        if (serving.has(worker)) end(worker, reason)
        // It serves nobody yet, and may not hear what it is asked.
        else worker.process.kill('SIGKILL')
      }
      // One that stands still hears nothing.
      const late = setTimeout(kill, withinMs)
      await allEnded()
      clearTimeout(late)
    },
  }

  async function endAll(): Promise<void> {
    startNoMore()
    kill()
    await allEnded()
  }

  function startNoMore(): void {
    isStopping = true
    for (const wait of pauses) clearTimeout(wait)
  }

  /** Whoever asks while the same is being asked gets that answer. */
  function ask(question: string): Promise<unknown> {
    const asking = asked.get(question) ?? askAll(question).finally(() => asked.delete(question))
    asked.set(question, asking)
    return asking
  }

  async function askAll(question: string): Promise<unknown> {
    const answers = await Promise.all(
      [...serving].map(
        async ([{ id }, talk]) => [id, await talk.ask(question).catch(() => undefined)] as const,
      ),
    )
    return together(new Map(answers))
  }

  function allEnded(): Promise<void> {
    return new Promise((resolve) => {
      whenAllEnded = resolve
      if (workers.size === 0) resolve()
    })
  }

  /** Starts one, and looks after it for good: one that has served is replaced, whenever it ends. */
  function start(served: (pid?: number) => void, failed: (error: WorkerEnded) => void): void {
    const worker = forked(failed)
    if (worker !== null) lookAfter(worker, served, failed)
  }

  function lookAfter(
    worker: Worker,
    served: (pid?: number) => void,
    failed: (error: WorkerEnded) => void,
  ): void {
    const { pid } = worker.process
    const beganMs = performance.now()
    workers.add(worker)
    // Of one that has just ended nobody hears it.
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
    // Such as one that the system would not start, which then has no exit; a message that was lost tells nothing.
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

  /** Some of what the system refuses comes with an event, and some is thrown. */
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
  // Of one that has just ended nobody hears it.
  worker.send({ stop: reason }, () => {})
}
