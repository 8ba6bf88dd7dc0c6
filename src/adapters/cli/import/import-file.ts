import type { ReadRow, RefusedRow } from '../../../application/use-cases/import-customers.ts'
import { type Io, write } from '../io.ts'
import type { Operations, Store } from '../operations.ts'
import { printable } from '../printable.ts'
import { Refusal } from '../refusal.ts'
import { createSignalCounter } from '../signal-counter.ts'
import { csvRows } from './csv-rows.ts'
import { type ImportInput, openInput } from './input.ts'
import { ndjsonRows } from './ndjson-rows.ts'
import { createProgressBar } from './progress-bar.ts'

/** The format of the file. */
export type Format = 'csv' | 'ndjson'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Returns the format that the file's name indicates, or null. */
export function importFormat(file: string): Format | null {
  if (/\.csv$/i.test(file)) return 'csv'
  return /\.(ndjson|jsonl)$/i.test(file) ? 'ndjson' : null
}

/** `customer import`: imports the valid rows, reports every other row, and throws `Refusal` if there was any. */
export async function importFile(
  file: string,
  format: Format,
  isDryRun: boolean,
  { withStore }: Pick<Operations, 'withStore'>,
  io: Io,
): Promise<void> {
  const tally = { added: 0, alreadyThere: 0, refused: 0 }
  const interruption = new AbortController()
  const count = createSignalCounter()
  const interrupt = (signal: NodeJS.Signals) => {
    interruption.abort()
    if (count(signal) !== 'second') return
    // Ends the process at once, and the database rolls back the current batch.
    stopListening()
    process.kill(process.pid, signal)
  }
  const stopListening = () => {
    for (const signal of SIGNALS) process.off(signal, interrupt)
  }
  const input = await openInput(file, io.stdin, interruption.signal)
  const bar = createProgressBar(io.stderr, () => performance.now())
  let rows = 0
  const show = () => bar.show(readShare(input), rows)

  try {
    await withStore((store) => take(store), { mayCreate: true })
  } finally {
    // Only after the database is closed, because a repeat of the signal may still arrive.
    stopListening()
    input.close()
  }
  if (interruption.signal.aborted)
    throw new Refusal('Interrupted; what was imported stays. Run it again for the rest.')
  if (tally.refused > 0) throw new Refusal(`Rows were refused: ${tally.refused}.`)

  async function take({ importCustomers, deadline }: Store): Promise<void> {
    for (const signal of SIGNALS) process.on(signal, interrupt)
    try {
      show()
      for await (const step of importCustomers(counted(parseRows(input)), { isDryRun, deadline })) {
        if (step.kind === 'refused') {
          tally.refused++
          await print(`line ${step.row.line}: ${step.row.problem}`)
        } else {
          tally.added += step.added
          tally.alreadyThere += step.alreadyThere
        }
        show()
        if (interruption.signal.aborted) break
      }
      bar.clear()
      await write(io.stdout, formatSummary(tally, isDryRun))
    } catch (error) {
      bar.clear()
      if (rows > 0) await write(io.stdout, formatSummary(tally, isDryRun))
      if (!interruption.signal.aborted) throw error
    }
  }

  function parseRows({ chunks }: ImportInput): AsyncIterable<ReadRow | RefusedRow> {
    if (format === 'ndjson') return ndjsonRows(chunks)
    return csvRows(chunks, (columns) => print(`Ignored columns: ${columns.join(', ')}.`))
  }

  async function* counted(
    found: AsyncIterable<ReadRow | RefusedRow>,
  ): AsyncGenerator<ReadRow | RefusedRow, void, void> {
    for await (const row of found) {
      rows++
      yield row
    }
  }

  async function print(text: string): Promise<void> {
    bar.clear()
    await write(io.stderr, `latchkey: ${printable(text)}\n`)
  }
}

function readShare({ totalBytes, readBytes }: ImportInput): number | null {
  return totalBytes === null || totalBytes === 0 ? null : readBytes() / totalBytes
}

function formatSummary(
  { added, alreadyThere, refused }: { added: number; alreadyThere: number; refused: number },
  isDryRun: boolean,
): string {
  const rest = `already there: ${alreadyThere}, refused: ${refused}`
  return isDryRun ? `Dry run, nothing changed. New: ${added}, ${rest}.\n` : `Imported: ${added}, ${rest}.\n`
}
