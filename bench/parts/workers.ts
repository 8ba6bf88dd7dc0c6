import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createTestDatabase } from '../../tests/support/database.ts'
import { buildProduct, product, withServers } from '../candidates.ts'
import { makeToken } from '../data.ts'
import { type Bench, type Findings, type Part, shownSpread, spreadOf } from '../part.ts'
import { carry, perSecondOf, ratios } from '../rounds.ts'

const ONE = 'one process'
const TWO = 'WORKERS=2'

/** What more processes carry, and how soon one serves. */
export const workers: Part = { id: 'workers', title: 'Workers and startup', run }

async function run(bench: Bench): Promise<Findings> {
  const database = await createTestDatabase()
  try {
    const { secret } = await makeToken(database)
    const candidates = [
      product(bench, ONE, database.url),
      product(bench, TWO, database.url, { WORKERS: '2' }),
    ]
    const carried = await withServers(candidates, bench.folder, (served) =>
      carry(
        bench,
        served.map(({ name, url }) => ({
          name,
          url,
          request: 'POST /api/me',
          token: secret,
          connections: 64,
          seconds: bench.quick ? 2 : 4,
        })),
      ),
    )
    const gains = ratios(carried, TWO, ONE)
    const startsMs = await measureStarts(bench)
    return {
      about: `\`POST /api/me\` with one cached token over 64 connections; no process is bound to a processor. The load runs
on the same machine, which has ${availableParallelism()} processors, and takes processor time from the workers. Startup is measured for the
compiled program on an existing embedded database, up to its first response.`,
      tables: [
        {
          head: ['processes', 'requests a second'],
          rows: [ONE, TWO].map((name) => [name, shownSpread(perSecondOf(carried, name))]),
        },
      ],
      goals: [
        {
          id: 'P12',
          what: 'two workers, ratio to one process',
          goal: '≥ 1.8',
          measured: shownSpread(gains, 2),
          isReached: spreadOf(gains).median >= 1.8,
        },
        {
          id: 'P13',
          what: 'from the start to the first response, ms',
          goal: '≤ 1,500',
          measured: shownSpread(startsMs),
          isReached: spreadOf(startsMs).median <= 1500,
        },
      ],
    }
  } finally {
    await database.drop()
  }
}

/** The first start makes the database and does not count. */
async function measureStarts(bench: Bench): Promise<readonly number[]> {
  const folder = mkdtempSync(join(bench.folder, 'start-'))
  // The account that runs the database has to pass through.
  chmodSync(folder, 0o755)
  const startsMs: number[] = []
  const starts = bench.quick ? 3 : 8
  for (let start = 0; start < starts; start++) {
    bench.progress(`start ${start + 1} of ${starts}`)
    startsMs.push(await startOnce(bench, folder))
  }
  return startsMs.slice(1)
}

async function startOnce(bench: Bench, folder: string): Promise<number> {
  const beganMs = performance.now()
  const child = spawn(process.execPath, [buildProduct(bench), 'serve'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODE_ENV: 'production',
      PORT: '0',
      DATA_DIR: 'data',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text
      const address = /"address":"(http:[^"]+)"/.exec(output)?.[1]
      if (address !== undefined) resolve(address)
    })
    child.once('close', () => reject(new Error(`It does not serve: ${output}`)))
  })
  await fetch(`${url}/readyz`)
  const tookMs = performance.now() - beganMs
  child.kill('SIGINT')
  await ended
  return tookMs
}
