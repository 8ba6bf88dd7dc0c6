import { setImmediate } from 'node:timers/promises'
import { memoryDatabase } from '../../src/adapters/memory/database.ts'
import { memoryLoginThrottle } from '../../src/adapters/memory/login-throttle.ts'
import {
  type Database,
  type DatabaseContext,
  DatabaseUnusable,
  type OpenDatabase,
} from '../../src/application/ports/database.ts'
import type { LoginThrottle } from '../../src/application/ports/login-throttle.ts'
import type { TriedDatabase } from '../../src/testing/contracts/database.ts'
import { createGate } from './disturbed-memory.ts'

/** What a database with a fault does differently. */
export interface DatabaseFaults {
  /** Whether two migrations can run at once. */
  readonly isUnlocked?: boolean
  readonly ignoresMigrateOff?: boolean
  /** Replaces properties of each open database. */
  readonly replaced?: (inner: OpenDatabase, context: DatabaseContext) => Partial<OpenDatabase>
}

const MIGRATIONS = ['0001_customers', '0002_tokens']
const DATA_DIR = '/memory'

interface State {
  readonly applied: Set<string>
  readonly inner: Database
  readonly throttle: LoginThrottle
  migrating: Promise<unknown>
}

/** Creates a database in memory with migrations, for several processes. Without faults, it passes every sentence. */
export function migratedMemory({
  isUnlocked = false,
  ignoresMigrateOff = false,
  replaced = () => ({}),
}: DatabaseFaults = {}): TriedDatabase {
  const network = createGate()
  const states = new Map<string, State>()
  const database: Database = { open, migrate, pendingMigrations }
  return { database, env: { DATA_DIR }, stall: network.close, dispose: async () => {} }

  function find({ configuration, clock }: DatabaseContext): State {
    const folder = configuration.dataDir ?? ''
    const state = states.get(folder) ?? {
      applied: new Set(),
      inner: memoryDatabase(),
      throttle: memoryLoginThrottle(configuration, clock),
      migrating: Promise.resolve(),
    }
    states.set(folder, state)
    return state
  }

  async function open(role: Parameters<Database['open']>[0], context: DatabaseContext) {
    const { inner, throttle } = find(context)
    const isOff = context.configuration.migrate === 'off' && !ignoresMigrateOff
    if (isOff && (await pendingMigrations(context)).length > 0)
      throw new DatabaseUnusable('The schema is missing. Run the command migrate first.')
    const applied = await migrate(context)
    const opened: OpenDatabase = {
      ...(await inner.open(role, context)),
      throttle,
      fresh: applied.length > 0,
      workerEnv: { DATA_DIR },
      ready: async () => !network.isClosed(),
    }
    return { ...opened, ...replaced(opened, context) }
  }

  async function migrate(context: DatabaseContext): Promise<readonly string[]> {
    const state = find(context)
    const result = isUnlocked ? apply(context) : state.migrating.then(() => apply(context))
    state.migrating = result
    return result
  }

  async function apply(context: DatabaseContext): Promise<readonly string[]> {
    const names = await pendingMigrations(context)
    await setImmediate()
    for (const name of names) find(context).applied.add(name)
    return names
  }

  async function pendingMigrations(context: DatabaseContext): Promise<readonly string[]> {
    return MIGRATIONS.filter((name) => !find(context).applied.has(name))
  }
}
