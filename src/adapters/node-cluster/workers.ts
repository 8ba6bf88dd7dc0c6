import { ordersToWorkers } from './orders.ts'
import { Supervisor, type WorkersEvent } from './supervisor.ts'
import { watchWorkers } from './watchdog.ts'
import { type CombineResponses, WorkerQuestions } from './worker-questions.ts'

/** Processes that serve one address together. */
export interface Workers {
  /** Sends each worker an order; resolves when every worker has acknowledged it or has ended. */
  send(order: object): Promise<void>
  /** Asks each serving worker; resolves with the combined response. */
  ask(question: string): Promise<unknown>
  /** Asks each worker to drain and end, for `reason`; resolves when all have ended. After `withinMs` they are killed. */
  stop(reason: string, withinMs: number): Promise<void>
  /** Kills all workers at once. */
  kill(): void
}

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
  combine,
}: {
  readonly count: number
  readonly env: Readonly<Record<string, string>>
  /** Cancels the start. */
  readonly abandoned: Promise<unknown>
  readonly onEvent: (event: WorkersEvent) => void
  /** Combines the workers' responses to a question. */
  readonly combine: CombineResponses
}): Promise<Workers | null> {
  const orders = ordersToWorkers()
  const questions = new WorkerQuestions(() => supervisor.serving, combine)
  const watchdog = watchWorkers(
    () => supervisor.serving,
    ({ process: hung }) => {
      onEvent({ kind: 'hung', detail: `Process ${hung.pid} has not responded for 10 s and is killed.` })
      hung.kill('SIGKILL')
    },
  )
  const supervisor = new Supervisor({
    env,
    onEvent,
    onBegun(worker) {
      worker.on('message', (message) => orders.receive(worker, message))
      questions.add(worker)
      watchdog.add(worker)
    },
    onEnded(worker) {
      orders.remove(worker)
      questions.remove(worker)
      watchdog.remove(worker)
    },
  })

  try {
    const all = Promise.all(Array.from({ length: count }, () => supervisor.start()))
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
    kill: () => supervisor.kill(),
    // Also workers that are still starting: they may have read the previous settings.
    send: (order) => orders.send(supervisor.workers, order),
    ask: (question) => questions.ask(question),
    async stop(reason, withinMs) {
      supervisor.stopReplacing()
      watchdog.close()
      for (const worker of supervisor.workers) {
        // A worker that has just ended does not receive it.
        if (supervisor.serving.has(worker)) worker.send({ stop: reason }, () => {})
        // It serves no client yet, and may not receive messages.
        else worker.process.kill('SIGKILL')
      }
      // A worker that hangs does not react to messages.
      const late = setTimeout(() => supervisor.kill(), withinMs)
      await supervisor.allEnded()
      clearTimeout(late)
    },
  }

  async function endAll(): Promise<void> {
    watchdog.close()
    supervisor.stopReplacing()
    supervisor.kill()
    await supervisor.allEnded()
  }
}
