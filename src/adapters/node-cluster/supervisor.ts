import cluster, { type Worker } from 'node:cluster'
import { OperatorError } from '../../lib/operator-error.ts'

/** An event for the log. */
export interface WorkersEvent {
  readonly kind: 'ended' | 'hung' | 'started'
  readonly detail: string
}

/** A worker ended before it served. The worker itself has logged why. */
class WorkerEnded extends OperatorError {
  override readonly name = 'WorkerEnded'
}

/** The options of a supervisor. */
interface SupervisorOptions {
  /** Variables that each worker gets in addition to the environment of this process. */
  readonly env: Readonly<Record<string, string>>
  readonly onEvent: (event: WorkersEvent) => void
  /** Called for each worker when it has begun. */
  readonly onBegun: (worker: Worker) => void
  /** Called for each worker when it has ended. */
  readonly onEnded: (worker: Worker) => void
}

const SHORTEST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000
/** A worker that ended earlier is replaced after a pause, because it may end again. */
const PROVEN_MS = 10_000

/** Starts workers, and replaces each that ends after it has served (a supervisor with backoff). */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #workers = new Set<Worker>()
  readonly #serving = new Set<Worker>()
  readonly #pauses = new Set<NodeJS.Timeout>()
  #isStopping = false
  #failures = 0
  #whenAllEnded = () => {}

  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  /** The running workers, including those that do not serve yet. */
  get workers(): ReadonlySet<Worker> {
    return this.#workers
  }

  /** The workers that listen. */
  get serving(): ReadonlySet<Worker> {
    return this.#serving
  }

  /** Starts a worker; resolves with its process id when it listens. Rejects when it ends before. */
  start(): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const worker = this.#fork(reject)
      if (worker !== null) this.#supervise(worker, resolve, reject)
    })
  }

  /** Stops replacing workers that end. */
  stopReplacing(): void {
    this.#isStopping = true
    for (const wait of this.#pauses) clearTimeout(wait)
  }

  /** Resolves when no worker is left. */
  allEnded(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenAllEnded = resolve
      if (this.#workers.size === 0) resolve()
    })
  }

  /** Kills all workers at once. */
  kill(): void {
    for (const worker of this.#workers) worker.process.kill('SIGKILL')
  }

  /** The system reports some failures to fork by an event, and others by an exception. */
  #fork(failed: (error: WorkerEnded) => void): Worker | null {
    try {
      return cluster.fork(this.#options.env)
    } catch (error) {
      failed(new WorkerEnded(`No worker could be started: ${(error as Error).message}`))
      return null
    }
  }

  #supervise(worker: Worker, served: (pid?: number) => void, failed: (error: WorkerEnded) => void): void {
    const { pid } = worker.process
    const beganMs = performance.now()
    this.#workers.add(worker)
    this.#options.onBegun(worker)
    worker.once('listening', () => {
      this.#serving.add(worker)
      served(pid)
    })
    const ended = (cause: string) => {
      this.#workers.delete(worker)
      const hasServed = this.#serving.delete(worker)
      this.#options.onEnded(worker)
      if (this.#workers.size === 0) this.#whenAllEnded()
      if (this.#isStopping) return
      if (!hasServed) return failed(new WorkerEnded(`A worker ended before it served: ${cause}.`))
      this.#failures = performance.now() - beganMs < PROVEN_MS ? this.#failures + 1 : 0
      this.#replace(`Process ${pid} ended: ${cause}.`)
    }
    worker.once('exit', (code, signal) => ended(signal ?? `exit code ${code}`))
    // If the system could not start the process, there is no exit event. The error of a lost message has no meaning.
    worker.on('error', ({ message }) => {
      if (pid === undefined) ended(message)
    })
  }

  #replace(ended: string): void {
    const { onEvent } = this.#options
    onEvent({ kind: 'ended', detail: ended })
    const pauseMs =
      this.#failures === 0 ? 0 : Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** this.#failures)
    const wait = setTimeout(() => {
      this.#pauses.delete(wait)
      this.start().then(
        (pid) => onEvent({ kind: 'started', detail: `Process ${pid} serves in its place.` }),
        ({ message }: WorkerEnded) => {
          this.#failures += 1
          this.#replace(message)
        },
      )
    }, pauseMs)
    this.#pauses.add(wait)
  }
}
