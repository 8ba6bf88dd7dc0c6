import { Unavailable } from '../../domain/errors.ts'

/** How long the primary waits for a worker. */
const RESPONSE_TIMEOUT_MS = 2000
/** How long a worker waits for the primary, which first waits for its workers and then responds without the late ones. */
export const PRIMARY_RESPONSE_TIMEOUT_MS = 2 * RESPONSE_TIMEOUT_MS

/** Requests in both directions between two processes that exchange messages. */
export interface Questions {
  /** Resolves with the other process's response. Rejects with `Unavailable` after the timeout. */
  ask(question: string): Promise<unknown>
  /** Handles a message of the other process. */
  receive(message: unknown): void
}

/** `send` delivers messages and may lose them; `respond` computes the responses to the other process's questions. */
export function questions(
  send: (message: object) => void,
  respond: (question: string) => Promise<unknown>,
  responseTimeoutMs = RESPONSE_TIMEOUT_MS,
): Questions {
  const waiting = new Map<number, (response: unknown) => void>()
  let last = 0

  return {
    ask(question) {
      const n = ++last
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(n)
          reject(new Unavailable())
        }, responseTimeoutMs)
        waiting.set(n, (response) => {
          clearTimeout(timer)
          waiting.delete(n)
          resolve(response)
        })
        send({ question, n })
      })
    },

    receive(message) {
      if (isQuestion(message)) {
        const { question, n } = message
        // After a failure nothing is sent: the asking process times out.
        respond(question).then(
          (response) => send({ reply: response, n }),
          () => {},
        )
      }
      if (isReply(message)) waiting.get(message.n)?.(message.reply)
    },
  }
}

function isQuestion(message: unknown): message is { readonly question: string; readonly n: number } {
  return typeof message === 'object' && message !== null && 'question' in message
}

function isReply(message: unknown): message is { readonly reply: unknown; readonly n: number } {
  return typeof message === 'object' && message !== null && 'reply' in message
}
