import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Called, type CallOptions, callAt } from '../src/testing/call.ts'
import type { TestDatabase } from '../tests/support/database.ts'
import { BEHIND_PROXY, fromAnotherAddress } from '../tests/support/many-addresses.ts'
import {
  type RunningProcess,
  startLatchkey,
  startProcess,
  UNTHROTTLED,
} from '../tests/support/running-process.ts'
import { withApp } from './app.ts'
import { LEASE_MS, withDatabase } from './pair.ts'
import type { Trial } from './row.ts'
import { kill } from './scene.ts'

/** A service in a separate process, whose address stays the same after a restart. */
export interface Member {
  readonly name: string
  url(): string
  isPaused(): boolean
  pause(): void
  resume(): void
  /** Kills the process and starts a new one. */
  restart(): Promise<void>
  /** Stops it like an operator. */
  stop(): Promise<void>
}

/** Three services on one database. */
export interface Cluster {
  readonly database: TestDatabase
  readonly members: readonly [Member, Member, Member]
  /** E-mails of customers whose password is `PASSWORD`. */
  readonly emails: readonly string[]
}

export interface ClusterOptions {
  readonly revocation: 'strict' | 'prompt'
  readonly customers?: number
  /** A new database by default. */
  readonly database?: TestDatabase
  readonly env?: Readonly<Record<string, string>>
  /** Settings of the first member only. */
  readonly envOfFirst?: Readonly<Record<string, string>>
  /** The checkout of an earlier version, which the first member runs. It starts first, on a database without a schema. */
  readonly earlierCheckout?: string | undefined
}

export function withCluster(
  trial: Trial,
  { revocation, customers = 4, database, env: more = {}, envOfFirst = {}, earlierCheckout }: ClusterOptions,
  play: (cluster: Cluster) => Promise<void>,
): Promise<void> {
  return database === undefined ? withDatabase(clusterOn) : clusterOn(database)

  async function clusterOn(on: TestDatabase): Promise<void> {
    const emails: string[] = []
    const env = {
      ...{ PORT: '0', DATABASE_URL: on.url, REVOCATION: revocation, BCRYPT_COST: '4' },
      ...BEHIND_PROXY,
      ...UNTHROTTLED,
      ...more,
    }
    const members: Member[] = []
    try {
      members.push(await start(trial, 'first', { ...env, ...envOfFirst }, earlierCheckout))
      await withApp(trial, { database: on, isSecond: true }, async (app) => {
        for (let i = 0; i < customers; i++) emails.push((await app.addCustomer()).email)
      })
      for (const name of ['second', 'third']) members.push(await start(trial, name, env))
      await sleep(LEASE_MS)
      await play({ database: on, members: members as [Member, Member, Member], emails })
    } finally {
      await Promise.all(members.map((member) => member.stop()))
    }
  }
}

/** What PostgreSQL reports to a client whose connection `pg_terminate_backend` ends. */
const CONNECTION_ENDED = 'terminating connection due to administrator command'

async function start(
  trial: Trial,
  name: string,
  env: Record<string, string>,
  checkout?: string,
): Promise<Member> {
  let [running, url] = await launch(env)
  let isPaused = false

  return {
    name,
    url: () => url,
    isPaused: () => isPaused,
    pause() {
      isPaused = true
      signal('SIGSTOP')
    },
    resume() {
      signal('SIGCONT')
      isPaused = false
    },
    async restart() {
      signal('SIGKILL')
      await running.ended
      const again = { ...env, PORT: new URL(url).port }
      ;[running, url] = await launch(again).catch((error: Error) => {
        // Another fault has ended a connection of its start. A supervisor would start it again.
        if (!error.message.includes(CONNECTION_ENDED)) throw error
        return launch(again)
      })
    },
    async stop() {
      signal('SIGCONT')
      signal('SIGTERM')
      await running.ended
    },
  }

  async function launch(settings: Record<string, string>): Promise<[RunningProcess, string]> {
    const options = { cwd: trial.folder, env: settings }
    const launched =
      checkout === undefined
        ? startLatchkey(['serve'], options)
        : startProcess(process.execPath, [join(checkout, 'bin/latchkey.js'), 'serve'], options)
    const [, address = ''] = await launched.until(/"address":"(http:[^"]+)"/)
    return [launched, address]
  }

  function signal(name: NodeJS.Signals): void {
    kill(running.child.pid ?? 0, name)
  }
}

/** Returns null when no response arrived. */
export function post(member: Member, path: string, options: CallOptions): Promise<Called | null> {
  return callAt(member.url(), path, { ...options, headers: fromAnotherAddress() }).catch(() => null)
}
