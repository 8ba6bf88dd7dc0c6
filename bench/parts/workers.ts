import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { createTestDatabase } from '../../tests/support/database.ts'
import { createTokens } from '../data.ts'
import { measure, meRequest } from '../load.ts'
import { type Bench, inOrder, type NodeVersion, type Part } from '../part.ts'
import { buildProduct, product } from '../product.ts'
import { goal } from '../samples.ts'
import { withServer } from '../server.ts'

const ONE = 'one process'
const TWO = 'WORKERS=2'
const START = 'start'

/** The cost of several processes, and the time that one takes to start. */
export const workers: Part = { id: 'workers', title: 'Workers and startup', open }

async function open(bench: Bench) {
  const database = await createTestDatabase()
  const [secret = ''] = await createTokens(database, 1)
  const candidates = [
    product(bench, database.url, { name: ONE }),
    product(bench, database.url, { name: TWO, env: { WORKERS: '2' } }),
  ]
  // The user of the embedded database must be able to traverse the folder.
  const folder = mkdtempSync(join(bench.folder, 'start-'))
  chmodSync(folder, 0o755)
  let hasDatabase = false
  return {
    about: `\`POST /api/me\` with one cached token over 64 connections. No process is pinned to a processor, and the load runs on the
same machine, so throughput says little; CPU is that of all processes of the service. Startup is that of the compiled program on an
existing embedded database, up to its first response.`,
    async round({ number, node, samples }) {
      for (const candidate of inOrder(candidates, number)) {
        bench.progress(`round ${number + 1}, Node ${node.version}: ${candidate.name}`)
        await withServer(candidate, bench, node, async (server) => {
          const load = { requests: [meRequest(secret)], connections: 64, seconds: bench.isQuick ? 1 : 5 }
          samples.add(server.name, await measure(bench, server, { ...load, isPinned: false }))
        })
      }
      if (!hasDatabase) await startupMs(bench, node, folder)
      hasDatabase = true
      samples.add(START, { ms: await startupMs(bench, node, folder) })
    },
    report: (samples) => ({
      tables: [
        {
          head: ['processes', 'per second', 'CPU, µs'],
          rows: [ONE, TWO].map((name) => [
            name,
            samples.show(name, 'perSecond'),
            samples.show(name, 'cpuUs', 1),
          ]),
        },
      ],
      goals: [
        goal(
          { id: 'P12', what: 'CPU per request, two workers to one process' },
          samples.ratios(TWO, ONE, 'cpuUs'),
          {
            max: 1.1,
          },
        ),
        goal({ id: 'P13', what: 'from the start to the first response, ms' }, samples.values(START, 'ms'), {
          max: 1500,
          digits: 0,
        }),
      ],
    }),
    close: database.drop,
  } satisfies Awaited<ReturnType<Part['open']>>
}

async function startupMs(bench: Bench, node: NodeVersion, folder: string): Promise<number> {
  bench.progress(`Node ${node.version}: startup`)
  const startMs = performance.now()
  const { PATH, HOME } = process.env
  const child = spawn(node.path, [buildProduct(bench), 'serve'], {
    cwd: folder,
    env: { PATH, HOME, NODE_ENV: 'production', PORT: '0', DATA_DIR: 'data' },
    stdio: ['ignore', 'pipe', 'ignore'],
    signal: bench.signal,
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  let output = ''
  for await (const text of child.stdout.setEncoding('utf8')) {
    output += text
    const url = /"address":"(http:[^"]+)"/.exec(output)?.[1]
    if (url === undefined) continue
    await fetch(`${url}/readyz`)
    break
  }
  const ms = performance.now() - startMs
  child.kill('SIGINT')
  if ((await ended) !== 0) throw new Error(`The program does not serve: ${output}`)
  return ms
}
