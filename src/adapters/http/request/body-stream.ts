import { Readable } from 'node:stream'
import { type HttpError, PayloadTooLarge } from '../errors.ts'
import { CLIENT_GONE } from '../server/client-gone.ts'
import type { Exchange } from '../server/exchange.ts'

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
    }
  }

  override _read(): void {
    const { request, response } = this.#exchange
    if (this.#exchange.awaitsContinue) {
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
    // After the response the rest of the body is discarded.
    if (this.#exchange.responded && !this.#exchange.streams) return
    this.#bytes += chunk.length
    if (this.#bytes > this.#exchange.bodyLimitBytes) {
      // Set it now: a pipelined request behind this one must not begin before the failure is handled.
      this.#exchange.closes = true
      this.#fail(new PayloadTooLarge())
    } else if (!this.push(chunk)) this.#exchange.request.pause()
  }

  #end = (): void => {
    this.#stop()
    this.push(null)
  }

  #gone = (): void => this.#fail(CLIENT_GONE)

  #fail = (error: HttpError | Error): void => {
    this.#reject(error)
    this.destroy(error)
  }

  #stop(): void {
    if (this.#exchange.rejectBody === this.#fail) this.#exchange.rejectBody = null
    this.#exchange.request.off('data', this.#take).off('end', this.#end).off('close', this.#gone)
  }
}
