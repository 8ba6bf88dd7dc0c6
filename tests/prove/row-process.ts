/** Runs one row in a process of its own and prints its outcome as the last line; a crash is the runner's to see. */
import { type Outcome, Skipped, type Trial } from './row.ts'
import { ROWS } from './rows.ts'

const EXAMPLES = 5

const [id, size] = process.argv.slice(2)
const row = ROWS.find((candidate) => candidate.id === id)
if (row === undefined) throw new Error(`There is no row ${id}.`)

let trials = 0
let failures = 0
let skipped: string | undefined
const examples: string[] = []
const notes: string[] = []
const trial: Trial = {
  size: Number(size),
  expect(holds, otherwise) {
    trials++
    if (!holds) fail(otherwise())
  },
  note: (text) => void notes.push(text),
}

process.on('uncaughtException', (error) => fail(`uncaught: ${error.stack}`))
process.on('unhandledRejection', (error) =>
  fail(`unhandled: ${error instanceof Error ? error.stack : error}`),
)

try {
  await row.run(trial)
} catch (error) {
  if (error instanceof Skipped) skipped = error.message
  else fail(`the row threw: ${error instanceof Error ? error.stack : error}`)
}
const outcome: Outcome = { trials, failures, examples, notes, ...(skipped === undefined ? {} : { skipped }) }
process.stdout.write(`\n${JSON.stringify(outcome)}\n`)
process.exit(0)

function fail(example: string): void {
  failures++
  if (examples.length < EXAMPLES) examples.push(example)
}
