import type { RunningServer } from '../adapters/http/server/server.ts'
import type { Configuration } from '../application/configuration.ts'

/** How a service stops. `delay: false` skips the delay in which load balancers notice the drain. */
export interface StopOptions {
  readonly delay: boolean
}

type CleanUp = (options: StopOptions) => void | Promise<void>

/**
 * The state of one service from its start to its stop: what was started, in order, and the server that accepts requests.
 * It exists before the server, so that routes can read the server's state.
 */
export class Lifecycle {
  readonly #cleanUps: CleanUp[] = []
  #stopped: Promise<void> | null = null
  #server: RunningServer | null = null

  /** The bound address; empty before the server listens. */
  get address(): string {
    return this.#server?.url ?? ''
  }

  /** Whether the service has begun to stop. */
  get isDraining(): boolean {
    return this.#stopped !== null
  }

  /** Registers the clean-up of a part that was just started. A stop cleans up the latest part first. */
  onStop(cleanUp: CleanUp): void {
    this.#cleanUps.push(cleanUp)
  }

  /** Registers the server, which a stop drains. */
  serve(server: RunningServer, { drainDelayMs, drainDeadlineMs }: Configuration): void {
    this.#server = server
    this.onStop(({ delay }) =>
      server.drain({ delayMs: delay ? drainDelayMs : 0, deadlineMs: drainDeadlineMs }),
    )
  }

  /**
   * Cleans up every part, also after a clean-up failed; rejects with the first error. A later call returns the promise of
   * the first one.
   */
  stop(options: StopOptions): Promise<void> {
    this.#stopped ??= this.#cleanUpAll(options)
    return this.#stopped
  }

  async #cleanUpAll(options: StopOptions): Promise<void> {
    const errors: unknown[] = []
    for (const cleanUp of this.#cleanUps.toReversed()) {
      try {
        await cleanUp(options)
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}
