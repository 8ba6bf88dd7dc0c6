/** Measures the service: `npm run bench [-- --quick] [--only me,miss,…]`. */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { dropTestDatabases, testDatabasePrefix } from '../tests/support/database.ts'
import { openTestServer } from '../tests/support/test-server.ts'
import { interruption } from './interruption.ts'
import { loadProgram } from './load.ts'
import { installPackages } from './packages.ts'
import type { Bench, Part } from './part.ts'
import { growth } from './parts/growth.ts'
import { logins } from './parts/logins.ts'
import { me } from './parts/me.ts'
import { memory } from './parts/memory.ts'
import { miss } from './parts/miss.ts'
import { peers } from './parts/peers.ts'
import { revocations } from './parts/revocations.ts'
import { workers } from './parts/workers.ts'
import { keepResults, printFindings } from './report.ts'

const PARTS: readonly Part[] = [me, miss, peers, growth, memory, workers, revocations, logins]

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } },
})
const ids =
  values.only?.split(',') ??
  PARTS.filter(({ isLong = false }) => !(values.quick && isLong)).map(({ id }) => id)
for (const id of ids) if (!PARTS.some((part) => part.id === id)) usage(`no part ${id}`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interruption.abort())

const server = await openTestServer(process.env)
process.env.TEST_DATABASE_URL = server.url
process.env.TEST_RUN_ID = randomBytes(4).toString('hex')
const folder = mkdtempSync(join(tmpdir(), 'latchkey-bench-'))
chmodSync(folder, 0o755)
const bench: Bench = {
  quick: values.quick,
  folder,
  progress(text) {
    interruption.signal.throwIfAborted()
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
    else process.stderr.write(`${text}\n`)
  },
}
try {
  if (loadProgram === 'autocannon') await installPackages(bench)
  for (const part of PARTS.filter(({ id }) => ids.includes(id))) {
    const findings = await part.run(bench)
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
    printFindings(part, findings)
    // A quick run tells whether something broke; its figures are not worth keeping.
    if (!values.quick) await keepResults(part, findings, server.url)
    else if (findings.goals.some(({ isBroken }) => isBroken)) process.exitCode = 1
  }
} catch (error) {
  // Such as a wrong answer: no figure comes of that.
  const { aborted } = interruption.signal
  process.stderr.write(`\nbench: ${aborted ? 'interrupted' : (error as Error).message}\n`)
  process.exitCode = aborted ? 130 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
  await dropTestDatabases(server.url, testDatabasePrefix())
  await server.close()
}

function usage(problem: string): never {
  process.stderr.write(`bench: ${problem}; parts: ${PARTS.map(({ id }) => id).join(' ')}\n`)
  process.exit(2)
}
