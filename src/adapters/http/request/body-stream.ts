import { Readable } from 'node:stream'
import { type HttpError, PayloadTooLarge } from '../errors.ts'
import { CLIENT_GONE } from '../server/client-gone.ts'
import type { Exchange } from '../server/exchange.ts'

const TOO_LATE = 'The response was sent before the whole body was read.'

/**
 * The body of a request as a stream, which reads from the connection at the speed of its reader. It fails with the
 * failure that the client gets, or when the client is gone.
 */
export class BodyStream extends Readable {
  /** Rejects with the same failure; never resolves. */
  readonly failed: Promise<never>
  readonly #exchange: Exchange
  #bytes = 0
  #reject: (error: Error) => void = () => {}

  constructor(exchange: Exchange) {
    super()
    this.#exchange = exchange
    this.failed = new Promise((_, reject) => {
      this.#reject = reject
    })
    // The dispatch handles the failure; a handler that has not begun to read must not end the process.
    this.failed.catch(() => {})
    this.on('error', () => {})
    if (exchange.bodyFailure !== null) this.#fail(exchange.bodyFailure)
    else {
      exchange.rejectBody = this.#fail
      exchange.request.on('data', this.#take).once('end', this.#end).once('close', this.#gone).pause()
      // What is left of the body must not stay in memory, nor hold up the next request of the connection.
      exchange.response.once('close', () => this.#discard())
    }
  }

  override _read(): void {
    const { request, response } = this.#exchange
    if (this.#exchange.awaitsContinue) {
      // Node would write it into the response.
      if (this.#exchange.responded) {
        this.#fail(new Error(TOO_LATE))
        return
      }
      this.#exchange.awaitsContinue = false
      response.writeContinue()
    }
    request.resume()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#stop()
    done(error)
  }

  #take = (chunk: Buffer): void => {
    if (this.#isTooLate()) {
      this.#discard()
      return
    }
    this.#bytes += chunk.length
    if (this.#bytes > this.#exchange.bodyLimitBytes) {
      // Set it now: a pipelined request behind this one must not begin before the failure is handled.
      this.#exchange.closes = true
      this.#fail(new PayloadTooLarge())
    } else if (!this.push(chunk)) this.#exchange.request.pause()
  }

  #end = (): void => {
    if (this.#isTooLate()) this.#discard()
    else {
      this.#stop()
      this.push(null)
    }
  }

  #gone = (): void => this.#fail(CLIENT_GONE)

  #fail = (error: HttpError | Error): void => {
    this.#reject(error)
    this.destroy(error)
  }

  #isTooLate(): boolean {
    return this.#exchange.responded && !this.#exchange.streams
  }

  /** Fails, so that no reader takes the part before the response for the whole body. Skips the rest. */
  #discard(): void {
    if (!this.readableEnded) this.destroy(new Error(TOO_LATE))
    this.#exchange.request.resume()
  }

  #stop(): void {
    if (this.#exchange.rejectBody === this.#fail) this.#exchange.rejectBody = null
    this.#exchange.request.off('data', this.#take).off('end', this.#end).off('close', this.#gone)
  }
}
