import cluster from 'node:cluster'
import { isOrder, isStop, type Order } from './messages.ts'
import { PRIMARY_RESPONSE_TIMEOUT_MS, questions } from './questions.ts'

/** Whether this process is one of the workers. */
export const isWorker = cluster.isWorker

/** Lets a worker that is done, or could not start, end with its exit code; nothing in any other process. */
export function leaveWorkers(): void {
  cluster.worker?.disconnect()
}

/** Answers the primary's questions, and answers how to ask it what all workers together answer. */
export function respondToPrimary(
  answer: (question: string) => Promise<unknown>,
): (question: string) => Promise<unknown> {
  const { ask, heard } = questions(
    (message) => {
      process.send?.(message, undefined, undefined, () => {})
    },
    answer,
    PRIMARY_RESPONSE_TIMEOUT_MS,
  )
  process.on('message', heard)
  return ask
}

/** What a worker hears from its primary. */
export interface Orders {
  /** Resolves with the reason why this worker is to drain and end, the first one that comes. */
  readonly end: Promise<string>
  /** Obeys whatever is told, what came earlier included, in the order in which it came. */
  apply(act: (order: object) => void): void
}

/** Listens to the primary. A worker whose primary is gone is ended at once, by node. */
export function workerOrders(): Orders {
  const early: Order[] = []
  let take = (order: Order) => void early.push(order)
  const end = new Promise<string>((resolve) => {
    process.on('message', (message) => {
      if (isStop(message)) resolve(message.stop)
      if (isOrder(message)) take(message)
    })
    // Whoever manages services may send it to each process, beside what the primary asks.
    process.on('SIGTERM', () => resolve('SIGTERM'))
    // A terminal sends these to all processes; what they mean is the primary's to say.
    process.on('SIGINT', () => {}).on('SIGHUP', () => {})
  })
  return {
    end,
    apply(act) {
      take = ({ order, n }) => {
        act(order)
        process.send?.({ applied: n })
      }
      for (const order of early.splice(0)) take(order)
    },
  }
}
