import { checkAddress } from '../src/adapters/http/server/listen.ts'
import type { TestDatabase } from '../tests/support/database.ts'
import {
  type Ended,
  type RunningProcess,
  startLatchkey,
  UNTHROTTLED,
} from '../tests/support/running-process.ts'
import { withApp } from './app.ts'
import { withDatabase } from './pair.ts'
import type { Trial } from './row.ts'

/** A service in a separate process that is stopped and started like by an operator. */
export interface Instance {
  readonly port: number
  start(): Promise<void>
  running(): RunningProcess
}

/** Instances on one database, not started yet. */
export interface Fleet {
  readonly database: TestDatabase
  readonly instances: readonly Instance[]
  /** E-mails of customers whose password is `PASSWORD`. */
  readonly emails: readonly string[]
}

/** Creates the instances and stops those that still run afterwards. */
export function withFleet(
  trial: Trial,
  { count, customers, env }: { count: number; customers: number; env: Record<string, string> },
  play: (fleet: Fleet) => Promise<void>,
): Promise<void> {
  return withDatabase(async (database) => {
    const emails: string[] = []
    await withApp(trial, { database }, async (app) => {
      for (let i = 0; i < customers; i++) emails.push((await app.addCustomer()).email)
    })
    const settings = { DATABASE_URL: database.url, BCRYPT_COST: '4', ...UNTHROTTLED, ...env }
    const instances = []
    for (let i = 0; i < count; i++) instances.push(makeInstance(trial, await steadyPort(), settings))
    try {
      await play({ database, instances, emails })
    } finally {
      for (const { running } of instances) running().child.kill('SIGKILL')
      for (const { running } of instances) await running().ended
    }
  })
}

function makeInstance(trial: Trial, port: number, settings: Record<string, string>): Instance {
  let running: RunningProcess | undefined
  return {
    port,
    async start() {
      running = startLatchkey(['serve'], { cwd: trial.folder, env: { ...settings, PORT: `${port}` } })
      await running.until(/"service\.started"/)
    },
    running() {
      if (running === undefined) throw new Error('It was never started.')
      return running
    },
  }
}

/** Returns what was wrong with an orderly exit, whose last line is the goodbye; null when nothing was. */
export function findExitFlaw({ code, signal, stdout, stderr }: Ended): string | null {
  const last = stdout.trim().split('\n').at(-1) ?? ''
  if (code !== 0) return `it ended by ${signal ?? code}`
  if (!last.includes('"service.stopped"')) return `its last line is ${last}`
  return /\n\s+at /.test(stderr) ? `a stack: ${stderr}` : null
}

/** A port outside the range for outgoing connections, so that it is still free after a restart. */
async function steadyPort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000)
    const isFree = await checkAddress({ host: '127.0.0.1', port }).then(
      () => true,
      () => false,
    )
    if (isFree) return port
  }
}
