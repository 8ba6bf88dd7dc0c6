/** Proves the promises of the reliability plan: `npm run prove [-- --size ci|release] [--row B1]…`. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openTestServer } from '../support/test-server.ts'
import { withMutant } from './mutant-tree.ts'
import type { Mutant, Outcome, Row, Size } from './row.ts'
import { ROWS } from './rows.ts'

const ROOT = join(import.meta.dirname, '../..')
const ROW_MS: Readonly<Record<Size, number>> = { ci: 180_000, release: 3_600_000 }

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

const children = new Set<ReturnType<typeof spawn>>()
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = true
    for (const child of children) child.kill('SIGKILL')
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
  await server.close()
}
print(
  wrong === 0
    ? '\nEvery row holds, and every mutant was found out.'
    : `\n${wrong} rows or mutants went wrong.`,
)
process.exitCode = wrong === 0 && !interrupted ? 0 : 1

async function prove(row: Row): Promise<void> {
  const beganMs = performance.now()
  const outcome = await runRow(row, row.sizes[size], ROOT)
  const { trials, failures, examples, notes, skipped } = outcome
  const bound = failures === 0 && trials > 0 ? `${((3 / trials) * 100).toPrecision(2)} %` : '-'
  const seconds = ((performance.now() - beganMs) / 1000).toFixed(1)
  print(line(row.id, `${row.sizes[size]}`, `${trials}`, `${failures}`, bound, seconds, row.promise))
  for (const note of notes) print(`        ${note}`)
  if (skipped !== undefined) print(`        SKIPPED: ${skipped}`)
  else if (failures > 0 || trials === 0) {
    wrong++
    for (const example of examples) print(`        WRONG: ${example}`)
  }
  if (values['no-mutants'] || skipped !== undefined) return
  for (const mutant of row.mutants) await findOut(row, mutant)
}

/** A mutant is tried at the size of CI at most: what needs more to be found out would not be found out there. */
async function findOut(row: Row, mutant: Mutant): Promise<void> {
  const { failures, examples } = await withMutant(ROOT, mutant, (tree) =>
    runRow(row, row.sizes.mutant ?? row.sizes.ci, tree),
  ).catch((error: Error) => ({ failures: 0, examples: [error.message] }))
  if (failures === 0) wrong++
  const seen =
    failures === 0
      ? 'SURVIVED'
      : `found out by ${failures}, such as ${examples[0]?.split('\n')[0]?.slice(0, 90)}`
  print(`        mutant "${mutant.name}": ${seen}`)
}

function runRow(row: Row, trials: number, tree: string): Promise<Outcome> {
  const child = spawn(
    process.execPath,
    ['--expose-gc', '--import', 'tsx', join(tree, 'tests/prove/row-process.ts'), row.id, `${trials}`],
    {
      cwd: tree,
      env: { ...process.env, TEST_DATABASE_URL: server.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  children.add(child)
  let output = ''
  let errors = ''
  child.stdout.on('data', (text) => {
    output += text
  })
  child.stderr.on('data', (text) => {
    errors = (errors + text).slice(-2000)
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), ROW_MS[size])
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      children.delete(child)
      const last = output.trim().split('\n').at(-1) ?? ''
      if (code === 0 && last.startsWith('{')) resolve(JSON.parse(last))
      else
        resolve({
          trials: 1,
          failures: 1,
          examples: [`the process ended by ${signal ?? code}: ${errors}`],
          notes: [],
        })
    })
  })
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
