import { locateDataFolder } from '../adapters/embedded-postgres/data-folder.ts'
import { openEmbeddedPostgres } from '../adapters/embedded-postgres/open-embedded-postgres.ts'
import { loadRunner } from '../adapters/postgres/migrations.ts'
import type { Configuration } from '../application/configuration.ts'
import { type DatabaseContext, DatabaseUnusable, type Role } from '../application/ports/database.ts'

/** A PostgreSQL server that this process can reach, started by it if it is the embedded one. */
export interface Server {
  readonly url: string
  /** URL of the same database, without a transaction pooler. */
  readonly directUrl: string
  /** The folder of the embedded PostgreSQL; null for an external server. */
  readonly dataDir: string | null
  readonly notes: readonly string[]
  readonly lost: Promise<never>
  close(): Promise<void>
}

const NEVER = new Promise<never>(() => {})

/** Returns the server of `DATABASE_URL`; without that setting, starts or joins the embedded PostgreSQL. */
export async function openServer(
  role: Role,
  { configuration, log, mayCreate = true }: DatabaseContext,
): Promise<Server> {
  const { databaseUrl, databaseDirectUrl } = configuration
  if (databaseUrl !== null) {
    const directUrl = databaseDirectUrl ?? databaseUrl
    return { url: databaseUrl, directUrl, dataDir: null, notes: [], lost: NEVER, close: async () => {} }
  }
  if (!mayCreate) requireDatabase(configuration)
  const embedded = await openEmbeddedPostgres({
    ...embeddedLocation(configuration),
    // A service uses the embedded PostgreSQL exclusively; commands share it.
    role: role === 'command' ? 'command' : 'service',
    onEvent: (event, fields) => {
      if (event === 'embedded_postgres.creating') void loadRunner()
      else log.warn(event, { detail: describeEvent(fields) })
    },
  })
  return {
    url: embedded.url,
    directUrl: embedded.url,
    dataDir: embedded.dataDir,
    notes: embedded.notes,
    lost: embedded.lost,
    close: () => embedded.close(),
  }
}

/** Calls `use` with the URL of a direct connection to the configured server. Does not check the schema. */
export async function withServer<T>(
  context: DatabaseContext,
  use: (directUrl: string) => Promise<T>,
): Promise<T> {
  const server = await openServer('command', context)
  try {
    return await use(server.directUrl)
  } finally {
    await server.close()
  }
}

/** The fields of an event as one text, because those of the log are an allow-list. */
function describeEvent({ dataDir, reason, tookMs }: Record<string, unknown>): string {
  return [
    ...(dataDir === undefined ? [] : [`Data folder ${dataDir}`]),
    ...(reason === undefined ? [] : [`${reason}`]),
    ...(tookMs === undefined ? [] : [`after ${tookMs} ms`]),
  ].join(', ')
}

function requireDatabase(configuration: Configuration): void {
  const { path, isPrepared } = locateDataFolder(embeddedLocation(configuration))
  if (isPrepared) return
  throw new DatabaseUnusable(
    `There is no database in ${path}. Change to the folder of the service, or set DATA_DIR or DATABASE_URL. The first start of the service creates a database.`,
  )
}

/** Returns the location of the embedded PostgreSQL. */
export function embeddedLocation({ dataDir }: Configuration): { dataDir: string | undefined; home: string } {
  return { dataDir: dataDir ?? undefined, home: process.cwd() }
}
