import { setTimeout as sleep } from 'node:timers/promises'
import { createTestDatabase, type TestDatabase } from '../../tests/support/database.ts'
import { createLogins, createTokens } from '../data.ts'
import { measure, meRequest, runClient } from '../load.ts'
import type { Bench, Part } from '../part.ts'
import { cpuSeconds, residentBytes } from '../processes.ts'
import { product } from '../product.ts'
import { goal, type Samples } from '../samples.ts'
import { type RunningServer, withServer } from '../server.ts'
import { format, median, slope } from '../statistics.ts'

const TOKENS = 10_000
const LOGINS = 100
const LOGINS_PER_SECOND = 2
const LOAD_SHARE = 0.8
/** The share of the run that memory may need to settle. */
const WARM_SHARE = 0.2
/** The number of times that memory is read. Each forces a full garbage collection. */
const READINGS = 30
const SOAK = 'soak'

/** A long run at a steady rate. */
export const soak: Part = { id: 'soak', title: 'Steady load', isOnDemand: true, rounds: 1, open }

async function open(bench: Bench) {
  const database = await createTestDatabase()
  const requests = (await createTokens(database, TOKENS)).map(meRequest)
  const logins = await createLogins(database, { count: LOGINS, cost: 10 })
  const candidate = product(bench, database.url, { isPinned: true, env: { BCRYPT_COST: '10' } })
  return {
    about: `${bench.soakMinutes} minutes of \`POST /api/me\` with ${TOKENS} tokens over 64 connections at 80 % of the rate that a closed loop
reached in the same process, by the clock, and ${LOGINS_PER_SECOND} logins a second at bcrypt cost 10. A request that waits for a connection counts
from the moment it was due. Memory is read ${READINGS} times, and its slope is that of the least-squares line after the first fifth of
the run; the heap is measured after a full garbage collection, which stalls the process for some milliseconds.`,
    async round({ node, samples }) {
      await withServer(candidate, bench, node, async (server) => {
        bench.progress('soak: capacity')
        const capacity = await measure(bench, server, {
          requests,
          connections: 64,
          seconds: bench.isQuick ? 1 : 10,
        })
        const ratePerSecond = Math.floor(capacity.perSecond * LOAD_SHARE)
        const seconds = bench.soakMinutes * 60
        const streams = {
          me: { requests, connections: 64, ratePerSecond },
          logins: { requests: logins, connections: 4, ratePerSecond: LOGINS_PER_SECOND },
        }
        const [cpuBefore, transactionsBefore] = [cpuSeconds(server.pid), await transactions(database)]
        const load = runClient(bench, server.url, streams, { seconds, isPinned: true })
        // Awaited below; a failure meanwhile must not end the process.
        load.catch(() => {})
        const memory = await readMemory(bench, server, seconds)
        const { me, logins: logged } = await load
        const served = me.requests + logged.requests
        samples.add(SOAK, {
          ratePerSecond,
          ...me,
          failed: me.failed + logged.failed,
          loginP99Ms: logged.p99Ms,
          cpuUs: ((cpuSeconds(server.pid) - cpuBefore) / served) * 1e6,
          queries: ((await transactions(database)) - transactionsBefore) / served,
          ...memory,
        })
      })
    },
    report: (samples) => ({ tables: [table(samples)], goals: goals(samples) }),
    close: database.drop,
  } satisfies Awaited<ReturnType<Part['open']>>
}

/** Reads the memory during the run. Returns its slope after the warm-up in MiB an hour, and its last size. */
async function readMemory(bench: Bench, server: RunningServer, seconds: number) {
  const readings: { readonly hours: number; readonly heap: number; readonly resident: number }[] = []
  const startMs = performance.now()
  for (let reading = 1; reading <= READINGS; reading++) {
    const dueMs = startMs + ((seconds * 1000) / READINGS) * reading
    await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal: bench.signal })
    bench.progress(
      `soak: ${format((reading / READINGS) * bench.soakMinutes, 1)} of ${bench.soakMinutes} minutes`,
    )
    const resident = residentBytes(server.pid) / 2 ** 20
    const heap = (await server.probe('collect')) / 2 ** 20
    readings.push({ hours: (performance.now() - startMs) / 3_600_000, heap, resident })
  }
  const settled = readings.slice(Math.ceil(READINGS * WARM_SHARE))
  return {
    heapSlope: slope(settled.map(({ hours, heap }) => [hours, heap])),
    residentSlope: slope(settled.map(({ hours, resident }) => [hours, resident])),
    heap: readings.at(-1)?.heap ?? null,
    resident: readings.at(-1)?.resident ?? null,
  }
}

/** Returns the number of transactions that the database has run. */
async function transactions({ sql }: TestDatabase): Promise<number> {
  const [row] = await sql<{ count: string }>(
    'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
  )
  return Number(row?.count)
}

const ROWS = [
  ['requests a second', 'ratePerSecond', 0],
  ['requests', 'requests', 0],
  ['errors', 'failed', 0],
  ['p50, ms', 'p50Ms', 2],
  ['p99, ms', 'p99Ms', 2],
  ['p99.9, ms', 'p999Ms', 2],
  ['p99 of a login, ms', 'loginP99Ms', 0],
  ['CPU for each request, µs', 'cpuUs', 1],
  ['database transactions for each request', 'queries', 4],
  ['heap after the last collection, MiB', 'heap', 1],
  ['resident memory at the end, MiB', 'resident', 1],
  ['slope of the heap, MiB an hour', 'heapSlope', 2],
  ['slope of resident memory, MiB an hour', 'residentSlope', 2],
] as const

function table(samples: Samples) {
  const shown = (metric: string, digits: number) => format(median(samples.values(SOAK, metric)), digits)
  return {
    head: ['measurement', 'value'],
    rows: ROWS.map(([name, metric, digits]) => [name, shown(metric, digits)]),
  }
}

function goals(samples: Samples) {
  const values = (metric: string) => samples.values(SOAK, metric)
  return [
    goal({ id: 'P17', what: 'p99, ms' }, values('p99Ms'), { max: 5 }),
    goal({ id: 'P17', what: 'errors' }, values('failed'), { max: 0, digits: 0 }),
    goal({ id: 'P17', what: 'slope of the heap, MiB an hour' }, values('heapSlope'), { max: 1 }),
    goal({ id: 'P17', what: 'slope of resident memory, MiB an hour' }, values('residentSlope'), { max: 1 }),
  ]
}
