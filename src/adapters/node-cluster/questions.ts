import { Unavailable } from '../../domain/errors.ts'

/** So long a worker is waited for. */
const RESPONSE_TIMEOUT_MS = 2000
/** So long the primary is, which waits for its workers first and then answers without those that are silent. */
export const PRIMARY_RESPONSE_TIMEOUT_MS = 2 * RESPONSE_TIMEOUT_MS

/** Questions in both directions between two processes that send each other messages. */
export interface Questions {
  /** Answers what the other one does; rejects with `Unavailable` when that takes too long. */
  ask(question: string): Promise<unknown>
  /** Hears what the other one says. */
  heard(message: unknown): void
}

/** Asks through `send`, which may lose what it is given, and answers by `answer`. */
export function questions(
  send: (message: object) => void,
  answer: (question: string) => Promise<unknown>,
  responseTimeoutMs = RESPONSE_TIMEOUT_MS,
): Questions {
  const waiting = new Map<number, (answer: unknown) => void>()
  let last = 0

  return {
    ask(question) {
      const n = ++last
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(n)
          reject(new Unavailable())
        }, responseTimeoutMs)
        waiting.set(n, (responded) => {
          clearTimeout(timer)
          waiting.delete(n)
          resolve(responded)
        })
        send({ question, n })
      })
    },

    heard(message) {
      if (isQuestion(message)) {
        const { question, n } = message
        // Whoever gets no answer stops waiting.
        answer(question).then(
          (responded) => send({ answer: responded, n }),
          () => {},
        )
      }
      if (isReply(message)) waiting.get(message.n)?.(message.answer)
    },
  }
}

function isQuestion(message: unknown): message is { readonly question: string; readonly n: number } {
  return typeof message === 'object' && message !== null && 'question' in message
}

function isReply(message: unknown): message is { readonly answer: unknown; readonly n: number } {
  return typeof message === 'object' && message !== null && 'answer' in message
}
