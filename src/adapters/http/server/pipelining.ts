import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Exchange } from './exchange.ts'

/** The number of requests that one connection may have in progress; later ones are queued. */
const MAX_IN_PROGRESS = 32
/** Bytes that the scheduler parses per step: about 20 of the smallest requests. */
const MAX_PARSED_BYTES = 512
/** Time after which the scheduler yields to the event loop. */
const SLICE_MS = 0.5
/** After a connection exceeded the limit, the duration for which the scheduler also reads new connections. */
const ALERT_MS = 60_000

/** A connection as the scheduler sees it. */
export interface Pipeline {
  readonly socket: Socket
  /** Exchanges whose responses are not completely sent, in request order; the waiting ones come last. */
  readonly open: readonly Exchange[]
  /** Exchanges that are parsed but not dispatched. */
  waiting: Exchange[]
  /** The exchange that was parsed last. */
  readonly last: Exchange | null
  /** Whether later requests are ignored. */
  readonly condemned: boolean
  /** Whether the scheduler reads the socket, instead of node's parser. */
  isScheduled: boolean
}

/**
 * A fair scheduler (round-robin) for pipelined requests, which shares the event loop between connections in small slices.
 *
 * Node's parser reads a socket directly, which is fastest. It parses everything that has arrived, up to 64 KiB or 2,500
 * requests of about 3 KiB of memory each, before any other connection is read. That is right for a client that waits for
 * its response. When a connection pipelines, the scheduler takes over its socket and parses a few hundred bytes per step;
 * the rest stays in the socket. When a connection exceeds the limit of requests in progress, others are likely to do the
 * same at that moment: the scheduler takes over all of them before their bytes are parsed.
 */
export class PipelineScheduler {
  readonly #dispatch: (exchange: Exchange) => void
  readonly #condemn: (pipeline: Pipeline) => void
  readonly #pipelines = new Set<Pipeline>()
  /** Connections whose client probably waits for its response. They go first. */
  readonly #prompt = new Set<Pipeline>()
  readonly #backlog = new Set<Pipeline>()
  #isRunning = false
  #alertEndMs = 0

  /** `condemn` is called when an earlier response closes the connection, so that the waiting requests get no response. */
  constructor(dispatch: (exchange: Exchange) => void, condemn: (pipeline: Pipeline) => void) {
    this.#dispatch = dispatch
    this.#condemn = condemn
  }

  /** Registers a connection until its socket closes. */
  add(pipeline: Pipeline): void {
    this.#pipelines.add(pipeline)
    pipeline.socket.once('close', () => this.#pipelines.delete(pipeline))
    if (this.#alertEndMs > 0 && performance.now() < this.#alertEndMs) this.takeOver(pipeline)
  }

  /** Queues an exchange behind the open ones of its connection. */
  enqueue(pipeline: Pipeline, exchange: Exchange): void {
    pipeline.waiting.push(exchange)
    if (pipeline.waiting.length === MAX_IN_PROGRESS) this.#alert()
    this.takeOver(pipeline)
    this.schedule(pipeline)
  }

  #alert(): void {
    const nowMs = performance.now()
    if (nowMs >= this.#alertEndMs) for (const pipeline of this.#pipelines) this.takeOver(pipeline)
    this.#alertEndMs = nowMs + ALERT_MS
  }

  /** Lets the scheduler read the socket from now on, until it closes. */
  takeOver(pipeline: Pipeline): void {
    if (pipeline.isScheduled) return
    pipeline.isScheduled = true
    const { socket } = pipeline
    const schedule = () => this.schedule(pipeline)
    // A listener for `readable` detaches node's parser. Wait while the parser has paused the socket: only it can resume it.
    const detach = () => socket.on('readable', schedule).on('resume', schedule).on('drain', schedule)
    if (socket.isPaused()) socket.once('resume', detach)
    else detach()
  }

  /** Schedules a step for the connection: there may be bytes to parse, or a free slot for a request. */
  schedule(pipeline: Pipeline): void {
    const isPrompt = pipeline.open.length === 0 && pipeline.socket.readableLength <= MAX_PARSED_BYTES
    if (isPrompt) this.#prompt.add(pipeline)
    else this.#backlog.add(pipeline)
    if (this.#isRunning) return
    this.#isRunning = true
    setImmediate(() => this.#run())
  }

  #run(): void {
    const endMs = performance.now() + SLICE_MS
    for (const queue of [this.#prompt, this.#backlog]) {
      // A pipeline that is added again during the loop comes last.
      for (const pipeline of queue) {
        if (performance.now() >= endMs) break
        queue.delete(pipeline)
        if (this.#step(pipeline)) this.#backlog.add(pipeline)
      }
    }
    this.#isRunning = this.#prompt.size > 0 || this.#backlog.size > 0
    if (this.#isRunning) setImmediate(() => this.#run())
  }

  /** Dispatches a request or parses some bytes; false when only an event can let the connection do more. */
  #step(pipeline: Pipeline): boolean {
    const { socket, open, waiting, last, condemned } = pipeline
    if (socket.destroyed || socket.writableNeedDrain) return false
    let unsentBytes = 0
    let inProgress = 0
    for (const exchange of open) {
      if (exchange === waiting[0]) break
      if (exchange.closes && (waiting.length > 0 || !condemned)) {
        this.#condemn(pipeline)
        return true
      }
      inProgress += 1
      unsentBytes += exchange.response.writableLength
    }
    // The client reads slowly, or the first handler is slow: more responses would only use memory. Above this limit node
    // also asserts that its parser receives no bytes.
    if (unsentBytes >= socket.writableHighWaterMark) return false
    if (waiting.length > 0) {
      if (inProgress >= MAX_IN_PROGRESS) return false
      const next = waiting.shift() as Exchange
      if (!next.responded) this.#dispatch(next)
      return true
    }
    const isBody = last !== null && !last.request.complete
    if (isBody ? isBufferFull(last.request) : inProgress >= MAX_IN_PROGRESS || condemned) return false
    // Without bytes, this read lets the stream report its end.
    socket.read(Math.min(MAX_PARSED_BYTES, socket.readableLength))
    return socket.readableLength > 0
  }
}

function isBufferFull({ readableLength, readableHighWaterMark }: Readable): boolean {
  return readableLength >= readableHighWaterMark
}
