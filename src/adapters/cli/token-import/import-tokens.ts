import type { SkippedRow, TokenRow } from '../../../application/management/token-rows.ts'
import type { RefusedRow } from '../../../application/use-cases/import-customers.ts'
import { durationMs } from '../../../lib/duration.ts'
import type { Format } from '../import/import-file.ts'
import { openInput } from '../import/input.ts'
import { createProgressBar } from '../import/progress-bar.ts'
import { listenForInterruption } from '../interruption.ts'
import { type Io, write } from '../io.ts'
import { jsonListing } from '../json.ts'
import { lineWidth, wrapText } from '../line-width.ts'
import type { Operations, Store } from '../operations.ts'
import { printable } from '../printable.ts'
import { Refusal } from '../refusal.ts'
import { parseDuration } from '../times.ts'
import { WrongField } from './fields.ts'
import { type TokenRecord, tokenRecords } from './records.ts'
import type { System, SystemOptions } from './system.ts'
import { SYSTEMS } from './systems.ts'
import { formatTally, type TokenTally, toJsonTally } from './tally.ts'

/** The arguments of the command. */
export interface TokenImportCommand {
  readonly file: string
  readonly format: Format
  readonly from: string
  readonly dryRun?: boolean
  readonly sync?: boolean
  readonly widen?: boolean
  readonly acceptWeakKeys?: boolean
  readonly tokenableType?: string
  readonly expiresAfter?: string
  readonly json?: boolean
}

/** `token import`: imports the valid rows, reports every refused row, and throws `Refusal` if there was any. */
export async function importTokensFile(
  command: TokenImportCommand,
  { withStore }: Pick<Operations, 'withStore'>,
  io: Io,
): Promise<void> {
  const { file, format, dryRun: isDryRun = false, sync = false, widen = false, json = false } = command
  const system = SYSTEMS[command.from] as System
  const options = readOptions(command, system)
  const tally: TokenTally = { added: 0, alreadyThere: 0, refused: 0, revoked: null, skipped: {} }
  const interruption = listenForInterruption()
  const input = await openInput(file, io.stdin, interruption.signal).catch((error: unknown) => {
    interruption.end()
    throw error
  })
  const bar = createProgressBar(io.stderr, () => performance.now())
  const refusals = jsonListing<RefusedRow>('refused_rows', (row) => row)
  let rows = 0
  try {
    await withStore(take)
  } finally {
    interruption.end()
    input.close()
  }
  if (interruption.signal.aborted)
    throw new Refusal('Interrupted; what was imported stays. Run it again for the rest.')
  if (sync && tally.revoked === null)
    throw new Refusal(
      'No token was revoked, because the file has no readable token, or rows that cannot be read.',
    )
  if (tally.refused > 0) throw new Refusal(`Rows were refused: ${tally.refused}.`)

  async function take({ importTokens, deadline, nowMs }: Store): Promise<void> {
    if (importTokens === null)
      throw new Refusal('This kind of database cannot store tokens of other systems.')
    const found = readRows(tokenRecords(input.chunks, format, system.columns), { ...options, nowMs: nowMs() })
    const synced = sync ? system.form : null
    let isWhole = false
    try {
      for await (const step of importTokens(found, { isDryRun, isWidening: widen, synced, deadline })) {
        if (step.kind === 'refused') await report(step.row)
        else if (step.kind === 'skipped') tally.skipped[step.reason] = (tally.skipped[step.reason] ?? 0) + 1
        else if (step.kind === 'revoked') tally.revoked = step.revoked
        else {
          tally.added += step.added
          tally.alreadyThere += step.alreadyThere
        }
        bar.show(input.totalBytes ? input.readBytes() / input.totalBytes : null, rows)
      }
      isWhole = true
    } catch (error) {
      if (!interruption.signal.aborted) throw error
    } finally {
      bar.clear()
      if (isWhole || rows > 0)
        await write(
          io.stdout,
          json ? refusals.end(toJsonTally(tally, isDryRun)) : formatTally(tally, isDryRun),
        )
    }
  }

  async function* readRows(
    groups: AsyncIterable<readonly (TokenRecord | RefusedRow)[]>,
    context: SystemOptions,
  ): AsyncGenerator<readonly (TokenRow | SkippedRow | RefusedRow)[]> {
    for await (const records of groups) {
      // Ends the rows, so that the batch that is being stored is still counted.
      interruption.signal.throwIfAborted()
      rows += records.length
      yield records.map((record) => ('problem' in record ? record : readRow(system, record, context)))
    }
  }

  async function report(row: RefusedRow): Promise<void> {
    tally.refused++
    bar.clear()
    if (json) await write(io.stdout, refusals.page([row]))
    else {
      const line = printable(`line ${row.line}: ${row.problem}`)
      await write(io.stderr, wrapText('latchkey: ', line, lineWidth(io.stderr)))
    }
  }
}

function readRow(
  system: System,
  record: TokenRecord,
  context: SystemOptions,
): TokenRow | SkippedRow | RefusedRow {
  try {
    return system.read(record, context)
  } catch (error) {
    if (error instanceof WrongField) return { line: record.line, problem: error.message }
    throw error
  }
}

/** Throws `Refusal` when the options do not fit the system. */
function readOptions(command: TokenImportCommand, system: System): Omit<SystemOptions, 'nowMs'> {
  const { tokenableType, expiresAfter, acceptWeakKeys, sync = false } = command
  if (system.form === null && sync) throw new Refusal('--sync needs the table of one system, not --from csv.')
  if (system.form === 'sanctum' && (tokenableType === undefined || expiresAfter === undefined))
    throw new Refusal(
      "Sanctum needs --tokenable-type, such as 'App\\Models\\User', and --expires-after, a duration or never: the value of expiration in config/sanctum.php.",
    )
  const isDuration = expiresAfter !== undefined && expiresAfter !== 'never'
  if (isDuration && durationMs(expiresAfter) === 0) throw new Refusal('--expires-after must be more than 0.')
  return {
    tokenableType,
    acceptWeakKeys,
    expiresAfterMs: isDuration ? parseDuration('--expires-after', expiresAfter) : null,
  }
}
