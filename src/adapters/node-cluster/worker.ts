import cluster from 'node:cluster'
import { isOrder, isStop, type Order } from './messages.ts'
import { PRIMARY_RESPONSE_TIMEOUT_MS, questions } from './questions.ts'
import { sendSignsOfLife } from './watchdog.ts'

/** Whether this process is a worker. */
export const isWorker = cluster.isWorker

/** Disconnects a worker that finished or failed to start, so that it can exit. Does nothing in other processes. */
export function leaveWorkers(): void {
  cluster.worker?.disconnect()
}

/**
 * Responds to the primary's questions by `respond`. Returns a function that asks the primary for the combined response of
 * all workers.
 */
export function respondToPrimary(
  respond: (question: string) => Promise<unknown>,
): (question: string) => Promise<unknown> {
  const { ask, receive } = questions(
    (message) => {
      process.send?.(message, undefined, undefined, () => {})
    },
    respond,
    PRIMARY_RESPONSE_TIMEOUT_MS,
  )
  process.on('message', receive)
  return ask
}

/** The orders that a worker receives from its primary. */
export interface WorkerOrders {
  /** Resolves with the first reason to drain and end. */
  readonly end: Promise<string>
  /** Calls `act` with every order, earlier ones included, in order of arrival, and acknowledges each. */
  apply(act: (order: object) => void): void
}

/** Listens to the primary. When the primary is gone, node ends the worker at once. */
export function workerOrders(): WorkerOrders {
  sendSignsOfLife()
  const early: Order[] = []
  let take = (order: Order) => void early.push(order)
  const end = new Promise<string>((resolve) => {
    process.on('message', (message) => {
      if (isStop(message)) resolve(message.stop)
      if (isOrder(message)) take(message)
    })
    // A service manager may send SIGTERM to each process, in addition to the primary's message.
    process.on('SIGTERM', () => resolve('SIGTERM'))
    // A terminal sends these signals to all processes; the primary handles them.
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
