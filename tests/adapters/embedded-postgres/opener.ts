/** Opens the embedded PostgreSQL in a separate process, prints what happens, and closes it on demand. */
import { openEmbeddedPostgres } from '../../../src/adapters/embedded-postgres/open-embedded-postgres.ts'
import { hostWith } from './support.ts'

const [options = '{}', host = '{}'] = process.argv.slice(2)

function report(fact: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(fact)}\n`)
}

const began = performance.now()
try {
  const opened = await openEmbeddedPostgres(
    { ...JSON.parse(options), onEvent: (event, fields) => report({ event, ...fields }) },
    hostWith(JSON.parse(host)),
  )
  const { url, dataDir, created, notes } = opened
  report({ opened: true, url, dataDir, created, notes, tookMs: Math.round(performance.now() - began) })
  process.stdin.once('data', async () => {
    process.stdin.destroy()
    const since = performance.now()
    await opened.close()
    report({ closed: true, tookMs: Math.round(performance.now() - since) })
  })
} catch (error) {
  report({ refused: (error as Error).name, message: (error as Error).message })
}
