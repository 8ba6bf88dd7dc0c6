import type { Worker } from 'node:cluster'
import { type Questions, questions } from './questions.ts'

/** Combines responses to one question, by worker id; undefined stands for a worker that did not respond in time. */
export type CombineResponses = (question: string, responses: ReadonlyMap<number, unknown>) => Promise<unknown>

/** Asks all serving workers one question, and responds to the same question of a worker. */
export class WorkerQuestions {
  readonly #serving: () => ReadonlySet<Worker>
  readonly #combine: CombineResponses
  readonly #channels = new Map<Worker, Questions>()
  readonly #pending = new Map<string, Promise<unknown>>()

  constructor(serving: () => ReadonlySet<Worker>, combine: CombineResponses) {
    this.#serving = serving
    this.#combine = combine
  }

  /** Opens the channel to a worker. */
  add(worker: Worker): void {
    // A worker that has just ended does not receive it.
    const send = (message: object) => void worker.send(message, () => {})
    const channel = questions(send, (question) => this.ask(question))
    this.#channels.set(worker, channel)
    worker.on('message', channel.receive)
  }

  /** Closes the channel to a worker that ended. */
  remove(worker: Worker): void {
    this.#channels.delete(worker)
  }

  /** Returns the combined response. Concurrent equal questions share one request (single-flight). */
  ask(question: string): Promise<unknown> {
    const pending =
      this.#pending.get(question) ?? this.#askAll(question).finally(() => this.#pending.delete(question))
    this.#pending.set(question, pending)
    return pending
  }

  async #askAll(question: string): Promise<unknown> {
    const responses = await Promise.all(
      [...this.#serving()].map(async (worker) => {
        const response = this.#channels.get(worker)?.ask(question)
        return [worker.id, await response?.catch(() => undefined)] as const
      }),
    )
    return this.#combine(question, new Map(responses))
  }
}
