import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestDatabase } from '../../tests/support/database.ts'
import { createTokens } from '../data.ts'
import { measure, meRequest } from '../load.ts'
import type { Bench, Part } from '../part.ts'
import { product } from '../product.ts'
import type { Samples } from '../samples.ts'
import { withServer } from '../server.ts'
import { format, median } from '../statistics.ts'

/** The areas of a request, and the functions that belong to them, as `name url`. */
const AREAS: readonly (readonly [name: string, pattern: RegExp])[] = [
  [
    'system calls: reading, writing, waiting for sockets',
    /^(writev|write|writeLatin1String|read|\(program\)) /,
  ],
  ['garbage collection', /^\(garbage collector\)/],
  ['SHA-256 and checksum', /crypto\/hash|^(hash|crc32) |token-secrets/],
  ['router', /find-my-way|http\/router/],
  ['cache and its lease', /node-cache|adapters\/caching|login-tokens\/|invalidations|system-clock/],
  ['use cases', /dist\/(application|domain)\//],
  ['HTTP adapter', /dist\/adapters\/http/],
  ['request ids', /crypto\/random/],
  ['node:http, streams, sockets, events', /node:/],
]
const REST = 'other'
/** A longer sample is a pause of the machine, not work. */
const MAX_SAMPLE_US = 20_000

/** The areas of code in which a cached request spends its time. */
export const profile: Part = { id: 'profile', title: 'Where the time of a request goes', rounds: 3, open }

async function open(bench: Bench) {
  const database = await createTestDatabase()
  const [secret = ''] = await createTokens(database, 1)
  return {
    about: `The processor time of a cached \`me\`, divided by the shares of Node's profiler (\`--cpu-prof\`), which itself takes time.`,
    async round({ number, node, samples }) {
      bench.progress(`round ${number + 1}, Node ${node.version}: profile`)
      const folder = join(bench.folder, `profile-${node.version}-${number}`)
      const { program, ...candidate } = product(bench, database.url, { isPinned: true })
      const profiled = { ...candidate, program: ['--cpu-prof', `--cpu-prof-dir=${folder}`, ...program] }
      const load = { requests: [meRequest(secret)], connections: 64, seconds: bench.isQuick ? 1 : 5 }
      const { cpuUs } = await withServer(profiled, bench, node, (server) => measure(bench, server, load))
      for (const [area, share] of readShares(folder)) samples.add(area, { share, us: share * cpuUs })
    },
    report: (samples) => ({ tables: [table(samples)], goals: [] }),
    close: database.drop,
  } satisfies Awaited<ReturnType<Part['open']>>
}

function table(samples: Samples) {
  const shares = samples
    .candidates()
    .map((area) => [area, median(samples.values(area, 'us')), median(samples.values(area, 'share'))] as const)
  return {
    head: ['area', 'µs', 'share'],
    rows: shares
      .toSorted(([, a], [, b]) => b - a)
      .map(([area, us, share]) => [area, format(us, 1), `${format(share * 100)} %`]),
  }
}

/** Returns the share of each area in the busy time of a profile. */
function readShares(folder: string): ReadonlyMap<string, number> {
  const [file = ''] = readdirSync(folder)
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile
  const functions = new Map(
    nodes.map(({ id, callFrame }) => [id, `${callFrame.functionName} ${callFrame.url}`]),
  )
  const times = new Map([...AREAS.map(([area]) => [area, 0] as const), [REST, 0]])
  let busy = 0
  samples.forEach((id, index) => {
    const name = functions.get(id) ?? ''
    const us = timeDeltas[index] ?? 0
    if (name.startsWith('(idle)') || us > MAX_SAMPLE_US) return
    const area = AREAS.find(([, pattern]) => pattern.test(name))?.[0] ?? REST
    times.set(area, (times.get(area) ?? 0) + us)
    busy += us
  })
  return new Map([...times].map(([area, us]) => [area, us / busy]))
}

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}
