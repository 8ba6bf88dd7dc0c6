/** Proves the promises of the reliability plan: `npm run prove [-- --size ci|release] [--row B1]…`. */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openTestServer } from '../support/test-server.ts'
import { withMutant } from './mutant-tree.ts'
import { boundOf, type Found, keepResult } from './report.ts'
import { type Mutant, type Outcome, type Row, type Size, trialsOf } from './row.ts'
import { rowRunner } from './row-runner.ts'
import { ROWS } from './rows.ts'

const ROOT = join(import.meta.dirname, '../..')
const ROW_MS = { ci: 180_000, mutant: 180_000, release: 3_600_000 }

const { values } = parseArgs({
  options: {
    size: { type: 'string', default: 'ci' },
    row: { type: 'string', multiple: true, default: [] },
    'no-mutants': { type: 'boolean', default: false },
  },
})
const size = values.size === 'ci' || values.size === 'release' ? values.size : usage(`no size ${values.size}`)
for (const id of values.row) if (!ROWS.some((row) => row.id === id)) usage(`no row ${id}`)
const rows = ROWS.filter(({ id }) => values.row.length === 0 || values.row.includes(id))

const runner = rowRunner()
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = true
    runner.interrupt()
  })
}

const server = await openTestServer(process.env)
print(`Proof at size ${size} on ${server.choice}.\n`)
let wrong = 0
try {
  print(line('row', 'size', 'tried', 'wrong', 'below (95 %)', 'seconds', 'promise'))
  for (const row of rows) {
    if (!interrupted) await prove(row)
  }
} finally {
  runner.close()
  await server.close()
}
if (interrupted) print('\nIt was interrupted.')
else if (wrong > 0) print(`\n${wrong} rows or mutants went wrong.`)
else
  print(
    `\nEvery row holds${values['no-mutants'] ? '; no mutant was tried' : ', and every mutant was found out'}.`,
  )
process.exitCode = wrong === 0 && !interrupted ? 0 : 1

async function prove(row: Row): Promise<void> {
  const beganMs = performance.now()
  const outcome = await runRow(row, size, ROOT)
  if (interrupted) return
  const { trials, failures, examples, notes, skipped } = outcome
  const seconds = (performance.now() - beganMs) / 1000
  const cells = [`${trialsOf(row, size)}`, `${trials}`, `${failures}`, boundOf(outcome), seconds.toFixed(1)]
  print(line(row.id, ...cells, row.promise))
  for (const note of notes) print(`        ${note}`)
  if (skipped !== undefined) print(`        SKIPPED: ${skipped}`)
  else if (failures > 0 || trials === 0) {
    wrong++
    for (const example of examples) print(`        WRONG: ${example}`)
  }
  if (values['no-mutants'] || skipped !== undefined) return
  // Two at a time: they mostly wait, and what they are measured by is found or not.
  const waiting = [...row.mutants]
  const found: Found[] = []
  await Promise.all([findOutAll(), findOutAll()])
  if (size === 'release' && !interrupted) await keepResult(ROWS, row, outcome, seconds, found, server.url)

  async function findOutAll(): Promise<void> {
    for (let mutant = waiting.shift(); mutant && !interrupted; mutant = waiting.shift())
      found.push({ name: mutant.name, by: await findOut(row, mutant) })
  }
}

/** Answers the first thing that told the mutant from the source, or null when it survived. */
async function findOut(row: Row, mutant: Mutant): Promise<string | null> {
  const { failures, examples } = await withMutant(ROOT, mutant, (tree) => runRow(row, 'mutant', tree)).catch(
    (error: Error) => ({ failures: 0, examples: [error.message] }),
  )
  if (interrupted) return null
  const example = examples[0]?.split('\n')[0]?.slice(0, 90) ?? ''
  if (failures === 0) wrong++
  const seen = failures === 0 ? 'SURVIVED' : `found out by ${failures}, such as ${example}`
  print(`        mutant "${mutant.name}": ${seen}`)
  return failures === 0 ? null : example
}

function runRow({ id }: Row, size: Size | 'mutant', tree: string): Promise<Outcome> {
  const rows = 'tests/prove/rows.ts'
  return runner.run({ serverUrl: server.url, tree, rows, id, size, timeoutMs: ROW_MS[size] })
}

function line(...cells: readonly string[]): string {
  const widths = [6, 9, 9, 6, 13, 8]
  return cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' ')
}

function usage(problem: string): never {
  process.stderr.write(`prove: ${problem}; rows: ${ROWS.map(({ id }) => id).join(' ')}; sizes: ci release\n`)
  process.exit(2)
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
