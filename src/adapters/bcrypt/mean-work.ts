/** The weight of the newest sample. */
const NEWEST_SHARE = 0.1
/** The limit of a sample, as a multiple of the mean: a pause of the machine is not work. */
const MAX_SAMPLE_FACTOR = 4

/** The moving average of the time that one slot occupies a thread, in milliseconds. */
export class MeanWork {
  #ms: number

  /** `expectedMs` counts until samples are recorded. */
  constructor(expectedMs: number) {
    this.#ms = expectedMs
  }

  get ms(): number {
    return this.#ms
  }

  /** Records a sample. A slot that was released before a thread worked for it is none. */
  record(workedMs: number): void {
    if (workedMs > 0) this.#ms += (Math.min(workedMs, MAX_SAMPLE_FACTOR * this.#ms) - this.#ms) * NEWEST_SHARE
  }
}
