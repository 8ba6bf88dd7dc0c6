import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { markdownTable, measuredWhere } from '../tests/support/document.ts'
import type { Outcome, Row } from './row.ts'

const ROOT = join(import.meta.dirname, '..')
const RESULTS = join(ROOT, 'verification/results.json')
export const DOCUMENT = join(ROOT, 'docs/reports/proof.md')

/** The result of a mutant: what revealed it, or null when it survived. */
export interface Found {
  readonly name: string
  readonly by: string | null
}

/** The latest result of a row and its mutants at release size, and where it ran. */
interface Result extends Pick<Outcome, 'trials' | 'failures' | 'notes'> {
  readonly seconds: number
  readonly mutants: readonly Found[]
  readonly where: string
}

/** Stores the result of a row beside the others, and writes the document from all of them. */
export async function storeResult(
  rows: readonly Row[],
  { id }: Row,
  { trials, failures, notes }: Outcome,
  seconds: number,
  mutants: readonly Found[],
  serverUrl: string,
): Promise<void> {
  const results: Record<string, Result> = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : {}
  results[id] = { trials, failures, notes, seconds, mutants, where: await measuredWhere(serverUrl) }
  writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`)
  writeFileSync(DOCUMENT, renderDocument(rows, results))
}

/**
 * Returns the upper bound of the fault rate with 95 % confidence, when no trial failed. Three or fewer trials bound
 * nothing.
 */
export function upperBound({ trials, failures }: Pick<Outcome, 'trials' | 'failures'>): string {
  return failures === 0 && trials > 3 ? `${((3 / trials) * 100).toPrecision(2)} %` : '-'
}

/** Returns the document of all results. Its head names the rows without a result. */
export function renderDocument(rows: readonly Row[], results: Readonly<Record<string, Result>>): string {
  const known = rows.flatMap((row) => {
    const result = results[row.id]
    return result === undefined ? [] : [{ row, result }]
  })
  const missing = rows.filter(({ id }) => results[id] === undefined).map(({ id }) => id)
  const mutants = known.flatMap(({ result }) => result.mutants)
  const table = markdownTable(
    ['row', 'promise', 'trials', 'failures', 'upper bound (95 %)'],
    known.map(({ row, result }) => [
      row.id,
      row.promise,
      result.trials.toLocaleString('en-US'),
      String(result.failures),
      upperBound(result),
    ]),
  )
  const details = known.map(
    ({ row, result }) => `### ${row.id}

${row.promise}.

${[
  `- ${result.trials.toLocaleString('en-US')} trials, ${result.failures} failures, ${Math.round(result.seconds)} s; ${result.where}.`,
  ...result.notes.map((note) => `- ${note}.`),
  ...result.mutants.map(({ name, by }) => `- Mutant "${name}": ${by === null ? 'SURVIVED' : 'found'}.`),
].join('\n')}
`,
  )
  const notYet =
    missing.length === 0 ? '' : `Not yet run at that size, and so not in the table: ${missing.join(' ')}.\n\n`
  return `# Proof

Each row tests a promise of the service with real processes, sockets, signals and PostgreSQL servers. It must also find
its mutants: changes of the source that remove one guard. This document is written by

\`\`\`sh
npm run verify -- --size release
\`\`\`

which takes hours. \`npm run verify\` takes minutes, and \`-- --row G8\` runs one row. Zero failures in n trials mean that the
failure rate is below 3/n with 95 % confidence. ${mutants.filter(({ by }) => by !== null).length} of ${mutants.length} mutants were found.

${notYet}${table}

${details.join('\n')}`
}
