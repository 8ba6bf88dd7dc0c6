import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { buildProduct } from '../candidates.ts'
import { type Bench, type Findings, type Part, shownSpread, spreadOf } from '../part.ts'

const TOKENS = 100_000
const MIB = 2 ** 20

/** What kept validations cost in memory, and what their end costs in time. */
export const memory: Part = { id: 'memory', title: 'Memory of the cache', run }

async function run(bench: Bench): Promise<Findings> {
  const dist = dirname(buildProduct(bench))
  const program = join(import.meta.dirname, '../servers/memory.js')
  const mib: number[] = []
  const stopsMs: number[] = []
  const runs = bench.quick ? 1 : 5
  for (let round = 0; round < runs; round++) {
    bench.progress(`memory: run ${round + 1} of ${runs}`)
    const args = ['--expose-gc', program, dist, String(TOKENS)]
    const { bytes, longestStopMs } = JSON.parse((await promisify(execFile)(process.execPath, args)).stdout)
    mib.push(bytes / MIB)
    stopsMs.push(longestStopMs)
  }
  return {
    about: `The heap that ${TOKENS.toLocaleString('en-US')} cached validations of different customers occupy, including
their response bodies and indexes; and the longest stall of the event loop, garbage collection included, while all of them
expire without requests.`,
    tables: [],
    goals: [
      {
        id: 'P10',
        what: 'heap for 100,000 tokens, MiB',
        goal: '≤ 60',
        measured: shownSpread(mib, 1),
        isReached: spreadOf(mib).median <= 60,
      },
      {
        id: 'P10',
        what: 'longest stall while they expire, ms',
        goal: '≤ 5',
        measured: shownSpread(stopsMs, 1),
        isReached: spreadOf(stopsMs).median <= 5,
      },
    ],
  }
}
