/** Measures the service; see `USAGE`. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { dropTestDatabases, testDatabasePrefix } from '../tests/support/database.ts'
import { openTestServer } from '../tests/support/test-server.ts'
import type { Bench, NodeVersion, Part } from './part.ts'
import { comparison } from './parts/comparison.ts'
import { growth } from './parts/growth.ts'
import { memory } from './parts/memory.ts'
import { peers } from './parts/peers.ts'
import { profile } from './parts/profile.ts'
import { requests } from './parts/requests.ts'
import { revocations } from './parts/revocations.ts'
import { soak } from './parts/soak.ts'
import { storms } from './parts/storms.ts'
import { verification } from './parts/verification.ts'
import { workers } from './parts/workers.ts'
import { printSummary, writeReport } from './report.ts'
import { Samples } from './samples.ts'
import { type Summary, summarize } from './summary.ts'

const PARTS = [
  requests,
  profile,
  memory,
  workers,
  storms,
  revocations,
  verification,
  peers,
  growth,
  soak,
] as const
const ROUNDS = 15
const QUICK_ROUNDS = 2

const USAGE = `Usage: npm run bench -- [options]
  --only <part>,…     run these parts: ${PARTS.map(({ id }) => id).join(' ')}
  --quick             short rounds that detect failures; writes no report
  --rounds <number>   default ${ROUNDS}
  --node <path>,…     measure on these versions of Node, each round on all of them
  --soak-minutes <n>  duration of the part soak; default 30
  --against <commit>  compare this checkout with a commit instead`

const { values } = readArguments()
const nodes = (values.node?.split(',') ?? [process.execPath]).map(nodeVersion)
const isQuick = values.quick
const rounds = wholeNumber('rounds', values.rounds ?? String(isQuick ? QUICK_ROUNDS : ROUNDS))
const soakMinutes = Number(values['soak-minutes'])
if (!(soakMinutes > 0)) fail('--soak-minutes must be a positive number.')
const parts = values.against === undefined ? selectParts(values.only) : [comparison(values.against)]

const interruption = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interruption.abort())

const server = await openTestServer(process.env)
process.env.TEST_DATABASE_URL = server.url
process.env.TEST_RUN_ID = randomBytes(4).toString('hex')
const folder = mkdtempSync(join(tmpdir(), 'latchkey-bench-'))
chmodSync(folder, 0o755)
const bench: Bench = {
  isQuick,
  rounds,
  soakMinutes,
  folder,
  signal: interruption.signal,
  progress(text) {
    interruption.signal.throwIfAborted()
    process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text}` : `${text}\n`)
  },
}
try {
  for (const part of parts) {
    const summary = await run(part)
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
    printSummary(summary)
    if (!isQuick && values.against === undefined) await writeReport(part.id, summary, server.url)
    if (isQuick && summary.goals.some(({ isBroken }) => isBroken)) process.exitCode = 1
  }
} catch (error) {
  const isInterrupted = interruption.signal.aborted
  process.stderr.write(`\nbench: ${isInterrupted ? 'interrupted' : (error as Error).message}\n`)
  process.exitCode = isInterrupted ? 130 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
  await dropTestDatabases(server.url, testDatabasePrefix())
  await server.close()
}

async function run(part: Part): Promise<Summary> {
  const experiment = await part.open(bench)
  try {
    const samples = new Map(nodes.map(({ version }) => [version, new Samples()]))
    const count = Math.min(part.rounds ?? rounds, rounds)
    for (let number = 0; number < count; number++) {
      for (const node of number % 2 === 0 ? nodes : nodes.toReversed()) {
        await experiment.round({ number, node, samples: samples.get(node.version) ?? new Samples() })
      }
    }
    return summarize(part, experiment, samples, count)
  } finally {
    await experiment.close()
  }
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        only: { type: 'string' },
        rounds: { type: 'string' },
        node: { type: 'string' },
        'soak-minutes': { type: 'string', default: '30' },
        against: { type: 'string' },
      },
    })
  } catch (error) {
    return fail((error as Error).message)
  }
}

function selectParts(only: string | undefined): readonly Part[] {
  if (only === undefined)
    return PARTS.filter(({ isOnDemand, isLong }: Part) => !isOnDemand && !(isLong && isQuick))
  return only.split(',').map((id) => PARTS.find((part) => part.id === id) ?? fail(`There is no part ${id}.`))
}

function nodeVersion(path: string): NodeVersion {
  try {
    return { path, version: execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim() }
  } catch {
    return fail(`${path} is not a Node program.`)
  }
}

function wholeNumber(option: string, text: string): number {
  return /^[1-9]\d{0,3}$/.test(text)
    ? Number(text)
    : fail(`--${option} must be a whole number from 1 to 9999.`)
}

function fail(problem: string): never {
  process.stderr.write(`bench: ${problem}\n${USAGE}\n`)
  process.exit(2)
}
