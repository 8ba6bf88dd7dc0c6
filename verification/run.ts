/** Tests the promises of the reliability plan: `npm run verify [-- --size ci|release] [--row B1]… [--rows 1/2] [--mutants 1/3] [--no-mutants]`. */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildProgram } from '../tests/support/built-program.ts'
import { openTestServer } from '../tests/support/test-server.ts'
import { withMutant } from './mutant-tree.ts'
import { type Found, storeResult, upperBound } from './report.ts'
import { countTrials, type Mutant, type Outcome, type Row, type Size } from './row.ts'
import { createRowRunner } from './row-runner.ts'
import { ROWS } from './rows.ts'

const ROOT = join(import.meta.dirname, '..')
/** Concurrent rows. They mostly wait; but where times decide, nothing may run beside one. */
const ROWS_AT_ONCE = { ci: 2, release: 1 }
/** Concurrent mutants of one row. No time decides about them. */
const MUTANTS_AT_ONCE = { ci: 1, release: 2 }
const ROW_MS = { ci: 180_000, mutant: 180_000, release: 3_600_000 }

const values = readOptions()
const size = values.size === 'ci' || values.size === 'release' ? values.size : usage(`no size ${values.size}`)
for (const id of values.row) if (!ROWS.some((row) => row.id === id)) usage(`no row ${id}`)
const [part, parts] = partOf(values.mutants)
const [rowPart, rowParts] = partOf(values.rows)
const rows = ROWS.filter(({ id }) => values.row.length === 0 || values.row.includes(id)).filter(
  (_, index) => index % rowParts === rowPart - 1,
)

const runner = createRowRunner()
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = true
    runner.interrupt()
  })
}

const server = await openTestServer(process.env)
// Rows that restart services for an hour restart what is shipped, in half the time of the sources.
const program = size === 'release' ? buildProgram() : null
print(`Proof at size ${size} on ${server.choice}.\n`)
let failed = 0
let mutants = 0
let tried = 0
try {
  print(line('row', 'size', 'trials', 'failures', 'bound (95 %)', 'seconds', 'promise'))
  const beside = rows.filter(({ alone }) => !alone)
  await Promise.all(Array.from({ length: ROWS_AT_ONCE[size] }, () => verifyAll(beside)))
  await verifyAll(rows.filter(({ alone }) => alone))
} finally {
  runner.close()
  program?.remove()
  await server.close()
}
if (interrupted) print('\nThe run was interrupted.')
else if (failed > 0) print(`\n${failed} rows or mutants failed.`)
else
  print(
    `\nEvery row passed${values['no-mutants'] ? '; no mutant was run' : `, and ${tried} of ${mutants} mutants were run and found`}.`,
  )
process.exitCode = failed === 0 && !interrupted ? 0 : 1

function readOptions() {
  try {
    return parseArgs({
      options: {
        size: { type: 'string', default: 'ci' },
        row: { type: 'string', multiple: true, default: [] },
        'no-mutants': { type: 'boolean', default: false },
        mutants: { type: 'string', default: '1/1' },
        rows: { type: 'string', default: '1/1' },
      },
    }).values
  } catch (error) {
    return usage((error as Error).message)
  }
}

/** Runs the waiting rows one after another. */
async function verifyAll(waiting: Row[]): Promise<void> {
  for (let row = waiting.shift(); row && !interrupted; row = waiting.shift()) await verify(row)
}

async function verify(row: Row): Promise<void> {
  const beganMs = performance.now()
  const outcome = await runRow(row, size, ROOT)
  if (interrupted) return
  const { trials, failures, examples, notes, skipped } = outcome
  const seconds = (performance.now() - beganMs) / 1000
  const lines: string[] = []
  const cells = [
    `${countTrials(row, size)}`,
    `${trials}`,
    `${failures}`,
    upperBound(outcome),
    seconds.toFixed(1),
  ]
  lines.push(line(row.id, ...cells, row.promise))
  for (const note of notes) lines.push(`        ${note}`)
  if (skipped !== undefined) lines.push(`        SKIPPED: ${skipped}`)
  else if (failures > 0 || trials === 0) {
    failed++
    for (const example of examples) lines.push(`        FAILED: ${example}`)
  }
  print(lines.join('\n'))
  if (values['no-mutants'] || skipped !== undefined) return
  const waiting = row.mutants.filter(() => mutants++ % parts === part - 1)
  tried += waiting.length
  const found: Found[] = []
  await Promise.all(Array.from({ length: MUTANTS_AT_ONCE[size] }, findOutAll))
  if (size === 'release' && parts === 1 && !interrupted)
    await storeResult(ROWS, row, outcome, seconds, found, server.url)

  async function findOutAll(): Promise<void> {
    for (let mutant = waiting.shift(); mutant && !interrupted; mutant = waiting.shift())
      found.push({ name: mutant.name, by: await findOut(row, mutant) })
  }
}

/** Returns the first failure that revealed the mutant, or null when it survived. */
async function findOut(row: Row, mutant: Mutant): Promise<string | null> {
  const { failures, examples } = await withMutant(ROOT, mutant, (tree) => runRow(row, 'mutant', tree)).catch(
    (error: Error) => ({ failures: 0, examples: [error.message] }),
  )
  if (interrupted) return null
  const example = examples[0]?.split('\n')[0]?.slice(0, 90) ?? ''
  if (failures === 0) failed++
  const seen = failures === 0 ? 'SURVIVED' : `found by ${failures} failures, such as ${example}`
  print(`        ${row.id}, mutant "${mutant.name}": ${seen}`)
  return failures === 0 ? null : example
}

function runRow({ id }: Row, size: Size | 'mutant', tree: string): Promise<Outcome> {
  const rows = 'verification/rows.ts'
  // A mutant is in the sources of its tree.
  const env = { TEST_PROGRAM: tree === ROOT ? program?.path : undefined }
  return runner.run({ serverUrl: server.url, tree, rows, id, size, timeoutMs: ROW_MS[size], env })
}

function line(...cells: readonly string[]): string {
  const widths = [6, 9, 9, 9, 13, 8]
  return cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' ')
}

/** Parses the part of all rows or mutants to run, such as the first of three: `1/3`. */
function partOf(text: string): readonly [part: number, parts: number] {
  const [, part = 0, parts = 0] = /^([1-9]\d?)\/([1-9]\d?)$/.exec(text)?.map(Number) ?? []
  return part > 0 && part <= parts ? [part, parts] : usage(`no part ${text}, such as 1/3`)
}

function usage(problem: string): never {
  process.stderr.write(`verify: ${problem}; rows: ${ROWS.map(({ id }) => id).join(' ')}; sizes: ci release\n`)
  process.exit(2)
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
