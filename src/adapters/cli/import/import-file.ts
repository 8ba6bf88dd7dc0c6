import type { ReadRow, RefusedRow } from '../../../application/use-cases/import-customers.ts'
import { listenForInterruption } from '../interruption.ts'
import { type Io, write } from '../io.ts'
import { jsonListing } from '../json.ts'
import { lineWidth, wrapText } from '../line-width.ts'
import type { Operations, Store } from '../operations.ts'
import { printable } from '../printable.ts'
import { Refusal } from '../refusal.ts'
import { csvRows } from './csv-rows.ts'
import { type ImportInput, openInput } from './input.ts'
import { ndjsonRows } from './ndjson-rows.ts'
import { createProgressBar } from './progress-bar.ts'
import { formatSummary, type Tally, toJsonSummary } from './summary.ts'

/** The format of the file. */
export type Format = 'csv' | 'ndjson'

/** Returns the format that the file's name indicates, or null. */
export function importFormat(file: string): Format | null {
  if (/\.csv$/i.test(file)) return 'csv'
  return /\.(ndjson|jsonl)$/i.test(file) ? 'ndjson' : null
}

/** The arguments of the command. */
interface ImportCommand {
  readonly file: string
  readonly format: Format
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** `customer import`: imports the valid rows, reports every other row, and throws `Refusal` if there was any. */
export async function importFile(
  { file, format, dryRun: isDryRun = false, json = false }: ImportCommand,
  { withStore }: Pick<Operations, 'withStore'>,
  io: Io,
): Promise<void> {
  const tally: Tally = { added: 0, alreadyThere: 0, refused: 0 }
  // A second signal ends the process at once, and the database rolls back the current batch.
  const interruption = listenForInterruption()
  const input = await openInput(file, io.stdin, interruption.signal).catch((error: unknown) => {
    interruption.end()
    throw error
  })
  const bar = createProgressBar(io.stderr, () => performance.now())
  const refusals = jsonListing<RefusedRow>('refused_rows', (row) => row)
  const summary = () => (json ? refusals.end(toJsonSummary(tally, isDryRun)) : formatSummary(tally, isDryRun))
  let rows = 0
  const show = () => bar.show(readShare(input), rows)

  try {
    await withStore((store) => take(store), { mayCreate: true })
  } finally {
    // Only after the database is closed, because a repeat of the signal may still arrive.
    interruption.end()
    input.close()
  }
  if (interruption.signal.aborted)
    throw new Refusal('Interrupted; what was imported stays. Run it again for the rest.')
  if (tally.refused > 0) throw new Refusal(`Rows were refused: ${tally.refused}.`)

  async function take({ importCustomers, deadline }: Store): Promise<void> {
    try {
      show()
      for await (const step of importCustomers(counted(parseRows(input)), { isDryRun, deadline })) {
        if (step.kind === 'refused') {
          tally.refused++
          if (json) await write(io.stdout, refusals.page([step.row]))
          else await print(`line ${step.row.line}: ${step.row.problem}`)
        } else {
          tally.added += step.added
          tally.alreadyThere += step.alreadyThere
        }
        show()
        if (interruption.signal.aborted) break
      }
      bar.clear()
      await write(io.stdout, summary())
    } catch (error) {
      bar.clear()
      if (rows > 0) await write(io.stdout, summary())
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
    await write(io.stderr, wrapText('latchkey: ', printable(text), lineWidth(io.stderr)))
  }
}

function readShare({ totalBytes, readBytes }: ImportInput): number | null {
  return totalBytes === null || totalBytes === 0 ? null : readBytes() / totalBytes
}
