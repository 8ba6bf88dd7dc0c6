import { setTimeout as sleep } from 'node:timers/promises'
import { type Called, type CallOptions, callAt } from '../src/testing/call.ts'
import type { TestDatabase } from '../tests/support/database.ts'
import { BEHIND_PROXY, fromAnotherAddress } from '../tests/support/many-addresses.ts'
import { type RunningProcess, startLatchkey, UNTHROTTLED } from '../tests/support/running-process.ts'
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
}

export function withCluster(
  trial: Trial,
  { revocation, customers = 4, database, env: more = {}, envOfFirst = {} }: ClusterOptions,
  play: (cluster: Cluster) => Promise<void>,
): Promise<void> {
  return database === undefined ? withDatabase(clusterOn) : clusterOn(database)

  async function clusterOn(on: TestDatabase): Promise<void> {
    const emails: string[] = []
    await withApp(trial, { database: on }, async (app) => {
      for (let i = 0; i < customers; i++) emails.push((await app.addCustomer()).email)
    })
    const env = {
      ...{ PORT: '0', DATABASE_URL: on.url, REVOCATION: revocation, BCRYPT_COST: '4' },
      ...BEHIND_PROXY,
      ...UNTHROTTLED,
      ...more,
    }
    const members: Member[] = []
    try {
      for (const name of ['first', 'second', 'third']) {
        members.push(await start(trial, name, name === 'first' ? { ...env, ...envOfFirst } : env))
      }
      await sleep(LEASE_MS)
      await play({ database: on, members: members as [Member, Member, Member], emails })
    } finally {
      await Promise.all(members.map((member) => member.stop()))
    }
  }
}

async function start(trial: Trial, name: string, env: Record<string, string>): Promise<Member> {
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
      ;[running, url] = await launch({ ...env, PORT: new URL(url).port })
    },
    async stop() {
      signal('SIGCONT')
      signal('SIGTERM')
      await running.ended
    },
  }

  async function launch(settings: Record<string, string>): Promise<[RunningProcess, string]> {
    const launched = startLatchkey(['serve'], { cwd: trial.folder, env: settings })
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
