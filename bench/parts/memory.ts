import { dirname, join } from 'node:path'
import type { Bench, Part } from '../part.ts'
import { output } from '../processes.ts'
import { buildProduct } from '../product.ts'
import { goal } from '../samples.ts'

const TOKENS = 100_000
const CACHE = 'cache'

/** The memory of cached validations, and the time that their expiry takes. */
export const memory: Part = { id: 'memory', title: 'Memory of the cache', open }

async function open(bench: Bench) {
  const dist = dirname(buildProduct(bench))
  const program = join(import.meta.dirname, '../servers/memory.js')
  return {
    about: `The heap that ${TOKENS} cached validations of different customers occupy, including their response bodies and indexes;
and the longest stall of the event loop, garbage collection included, while all of them expire without requests.`,
    async round({ number, node, samples }) {
      bench.progress(`round ${number + 1}, Node ${node.version}: memory of the cache`)
      const { bytes, longestStopMs } = JSON.parse(
        await output(bench, [node.path, '--expose-gc', program, dist, String(TOKENS)]),
      )
      samples.add(CACHE, { mib: bytes / 2 ** 20, longestStopMs })
    },
    report: (samples) => ({
      tables: [],
      goals: [
        goal({ id: 'P10', what: 'heap for 100,000 tokens, MiB' }, samples.values(CACHE, 'mib'), {
          max: 60,
          digits: 1,
        }),
        goal({ id: 'P10', what: 'longest stall, ms' }, samples.values(CACHE, 'longestStopMs'), {
          max: 5,
          digits: 1,
        }),
      ],
    }),
    async close() {},
  } satisfies Awaited<ReturnType<Part['open']>>
}
