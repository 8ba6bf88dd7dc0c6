import { BackupRefused, END_OF_ROWS } from './format.ts'

const LINE_FEED = 0x0a
const END_AFTER_ROW = Buffer.from(`\n${END_OF_ROWS}`)
const END_WITHOUT_ROWS = Buffer.from(END_OF_ROWS)
/** More than the longest line of facts needs. */
const MAX_LINE_BYTES = 16_777_216

/** Reads lines and the rows of tables from the bytes of a backup. */
export class BackupReader {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(bytes: AsyncIterable<Buffer>) {
    this.#chunks = bytes[Symbol.asyncIterator]()
  }

  /** Returns the next line without its end, or null at the end of the backup. */
  async line(): Promise<string | null> {
    for (;;) {
      const end = this.#rest.indexOf(LINE_FEED)
      if (end >= 0) {
        const text = this.#rest.toString('utf8', 0, end)
        this.#rest = this.#rest.subarray(end + 1)
        return text
      }
      if (this.#rest.length > MAX_LINE_BYTES) throw malformed()
      if (await this.#more()) continue
      if (this.#rest.length > 0) throw malformed()
      return null
    }
  }

  /** Yields the rows of a table in COPY's text format, and consumes the line that ends them. */
  async *rows(): AsyncGenerator<Buffer> {
    while (this.#rest.length < END_WITHOUT_ROWS.length) if (!(await this.#more())) throw malformed()
    if (this.#rest.subarray(0, END_WITHOUT_ROWS.length).equals(END_WITHOUT_ROWS)) {
      this.#rest = this.#rest.subarray(END_WITHOUT_ROWS.length)
      return
    }
    for (;;) {
      const end = this.#rest.indexOf(END_AFTER_ROW)
      if (end >= 0) {
        yield this.#rest.subarray(0, end + 1)
        this.#rest = this.#rest.subarray(end + END_AFTER_ROW.length)
        return
      }
      // The end may be split between two chunks.
      const sure = Math.max(0, this.#rest.length - END_AFTER_ROW.length + 1)
      if (sure > 0) yield this.#rest.subarray(0, sure)
      this.#rest = this.#rest.subarray(sure)
      if (!(await this.#more())) throw malformed()
    }
  }

  async #more(): Promise<boolean> {
    const next = await this.#chunks.next()
    if (next.done === true) return false
    this.#rest = this.#rest.length === 0 ? next.value : Buffer.concat([this.#rest, next.value])
    return true
  }
}

/** The checksum matches, so another program has written the file. */
function malformed(): BackupRefused {
  return new BackupRefused('The file is not a backup that this version can read. Nothing was changed.')
}
