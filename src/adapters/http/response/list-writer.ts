import { once } from 'node:events'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import type { Exchange } from '../server/exchange.ts'
import { COMMON, CONTENT_TYPE, writeHead } from './response.ts'

/** Characters that are written at once. */
const CHUNK_CHARACTERS = 16 * 1024
/** How long a text waits for more before it is written. */
const FLUSH_MS = 50
/** How long a source that never waits may keep other requests from the event loop. */
const SLICE_MS = 10
/** The age at which the client is authenticated again before the next bytes. */
const MAX_AUTHENTICATION_AGE_MS = 100

/** The parameters of a list's response. */
interface ListWriterOptions {
  readonly exchange: Exchange
  readonly status: number
  readonly authenticate: () => MaybePromise<unknown>
  /** Called when a write fails while the source is waited for, which may last forever. */
  readonly onFailure: (error: unknown) => void
}

/** Writes a response whose text arrives in pieces. The head is sent with the first ones: until then, it may still fail. */
export class ListWriter {
  readonly #options: ListWriterOptions
  #text = ''
  #hasHead = false
  #timer: NodeJS.Timeout | undefined
  #writes: Promise<void> = Promise.resolve()
  #authenticatedMs: number
  #resumedMs = performance.now()

  constructor(options: ListWriterOptions) {
    this.#options = options
    this.#authenticatedMs = options.exchange.beganMs
  }

  /** Adds a text. Resolves when the source may go on: after a write, for a slow client, or after other work. */
  add(text: string): MaybePromise<void> {
    this.#text += text
    if (this.#text.length >= CHUNK_CHARACTERS) return this.#write()
    this.#timer ??= setTimeout(() => void this.#write().catch(this.#options.onFailure), FLUSH_MS)
    if (performance.now() - this.#resumedMs > SLICE_MS) return this.#pause()
  }

  /** Writes the rest, and ends the response. */
  async end(text: string): Promise<void> {
    this.#text += text
    await this.#write()
    const { exchange } = this.#options
    exchange.streams = false
    exchange.response.end()
  }

  /** Stops writing. A response that has begun is broken off, so that it does not look complete. */
  abandon(): void {
    clearTimeout(this.#timer)
    if (this.#hasHead) this.#options.exchange.breakOff()
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writes = this.#writes.then(() => this.#writeNow())
    return this.#writes
  }

  async #writeNow(): Promise<void> {
    const { exchange } = this.#options
    await this.#reauthenticate()
    exchange.signal.throwIfAborted()
    if (!this.#hasHead) this.#sendHead()
    const text = this.#text
    this.#text = ''
    const { request, response, signal } = exchange
    if (request.method !== 'HEAD' && text !== '' && !response.write(text))
      await once(response, 'drain', { signal })
    if (performance.now() - this.#resumedMs > SLICE_MS) await this.#pause()
  }

  #sendHead(): void {
    const { exchange, status } = this.#options
    writeHead(exchange, status, [...CONTENT_TYPE, ...COMMON, 'X-Request-Id', exchange.requestId])
    this.#hasHead = true
    exchange.streams = true
    if (!exchange.isWhole) exchange.request.resume()
  }

  async #reauthenticate(): Promise<void> {
    const nowMs = performance.now()
    if (nowMs - this.#authenticatedMs < MAX_AUTHENTICATION_AGE_MS) return
    await this.#options.authenticate()
    this.#authenticatedMs = nowMs
  }

  async #pause(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.#resumedMs = performance.now()
  }
}
