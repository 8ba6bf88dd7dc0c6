/** Runs one row in a separate process and prints its outcome as the last line. The runner handles a crash. */
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { countTrials, type Outcome, type Row, type Size, Skipped, type Trial } from './row.ts'

const EXAMPLES = 5
const CLOSED_MS = 3000

const [rowsFile = '', id, size, folder = ''] = process.argv.slice(2)
const { ROWS } = (await import(pathToFileURL(rowsFile).href)) as { ROWS: readonly Row[] }
const row = ROWS.find((candidate) => candidate.id === id)
if (row === undefined) throw new Error(`There is no row ${id}.`)

let trials = 0
let failures = 0
let skipped: string | undefined
const examples: string[] = []
const notes: string[] = []
const trial: Trial = {
  size: countTrials(row, size as Size | 'mutant'),
  judgesTimes: size === 'release',
  folder,
  sharedFolder: dirname(folder),
  expect(holds, otherwise) {
    trials++
    if (!holds) fail(otherwise())
  },
  require(holds, otherwise) {
    if (!holds) fail(otherwise())
  },
  note: (text) => void notes.push(text),
}

process.on('uncaughtException', (error) => fail(`uncaught: ${error.stack}`))
process.on('unhandledRejection', (error) =>
  fail(`unhandled: ${error instanceof Error ? error.stack : error}`),
)

const held = heldResources()
try {
  await row.run(trial)
  await expectResourcesBack()
} catch (error) {
  if (error instanceof Skipped) skipped = error.message
  else fail(`the row threw: ${error instanceof Error ? error.stack : error}`)
}
const outcome: Outcome = { trials, failures, examples, notes, ...(skipped === undefined ? {} : { skipped }) }
process.stdout.write(`\n${JSON.stringify(outcome)}\n`)
process.exit(0)

/** Counts the resources that keep a process alive, by kind: sockets, servers, timers, children. */
function heldResources(): Map<string, number> {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

/** Waits, because sockets take a moment to close. */
async function expectResourcesBack(): Promise<void> {
  for (const endMs = performance.now() + CLOSED_MS; ; await sleep(20)) {
    const left = [...heldResources()].filter(([kind, count]) => count > (held.get(kind) ?? 0))
    if (left.length === 0) return
    if (performance.now() > endMs)
      return fail(`left behind: ${left.map(([kind, count]) => `${count} ${kind}`)}`)
  }
}

function fail(example: string): void {
  failures++
  if (examples.length < EXAMPLES) examples.push(example)
}
