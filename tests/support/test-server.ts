import { mkdtempSync, rmSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { openEmbeddedPostgres } from '../../src/adapters/embedded-postgres/open-embedded-postgres.ts'

/** A PostgreSQL server for one test run. Its role may create databases. */
export interface TestServer {
  readonly url: string
  /** One line that says which server this is and why it was chosen. */
  readonly choice: string
  close(): Promise<void>
}

const IMAGE_WAIT_MS = 60_000
/** The time limit for the start of a server, in milliseconds. */
export const START_WAIT_MS = 30_000

/**
 * Opens the server for the tests: `TEST_DATABASE_URL`, else a container if an engine runs and has or can pull the
 * image, else the embedded server.
 */
export async function openTestServer(env: NodeJS.ProcessEnv): Promise<TestServer> {
  if (env.TEST_DATABASE_URL) return givenServer(env.TEST_DATABASE_URL)
  const image = env.TEST_POSTGRES_IMAGE || 'postgres:18-alpine'
  try {
    return await containerServer(image)
  } catch (error) {
    return embeddedServer(`TEST_DATABASE_URL is unset, and no container: ${firstLine(error)}`)
  }
}

async function givenServer(url: string): Promise<TestServer> {
  const { hostname, port, pathname } = new URL(url)
  const choice = `the server of TEST_DATABASE_URL, ${hostname}:${port || 5432}${pathname}`
  await waitForQuery(url, 2000).catch((error) => {
    throw new Error(`TEST_DATABASE_URL is set, and ${hostname}:${port || 5432} refuses: ${firstLine(error)}`)
  })
  return { url, choice, close: async () => {} }
}

async function containerServer(image: string): Promise<TestServer> {
  const { GenericContainer, getContainerRuntimeClient, ImageName } = await import('testcontainers')
  const engine = await within(3000, 'the engine does not respond', getContainerRuntimeClient())
  const name = ImageName.fromString(image)
  if (!(await engine.image.exists(name))) {
    const missing = `the image ${image} did not arrive within ${IMAGE_WAIT_MS / 1000} s`
    const pull = engine.image.pull(name, { force: false, platform: undefined })
    await within(IMAGE_WAIT_MS, missing, pull)
  }
  const password = crypto.randomUUID()
  const container = await new GenericContainer(image)
    .withEnvironment({ POSTGRES_USER: 'latchkey', POSTGRES_PASSWORD: password, POSTGRES_DB: 'latchkey' })
    .withExposedPorts(5432)
    .start()
  const close = async () => {
    await container.stop({ remove: true, removeVolumes: true })
  }
  const url = `postgres://latchkey:${password}@${container.getHost()}:${container.getMappedPort(5432)}/latchkey`
  try {
    await waitForQuery(url, START_WAIT_MS)
  } catch (error) {
    await close()
    throw error
  }
  return { url, choice: `a container of ${image}: an engine runs`, close }
}

async function embeddedServer(why: string): Promise<TestServer> {
  const home = mkdtempSync(join(tmpdir(), 'latchkey-tests-'))
  // The server's user must be able to traverse it.
  await chmod(home, 0o755)
  try {
    const server = await openEmbeddedPostgres({ dataDir: join(home, 'data'), home, role: 'service' })
    return {
      url: server.url,
      choice: `the embedded server: ${why}`,
      async close() {
        await server.close()
        rmSync(home, { recursive: true, force: true })
      },
    }
  } catch (error) {
    rmSync(home, { recursive: true, force: true })
    throw error
  }
}

/** Connects repeatedly until a query succeeds. Throws the last error at the deadline. */
export async function waitForQuery(url: string, timeoutMs: number): Promise<void> {
  const endMs = performance.now() + timeoutMs
  for (;;) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 2000 })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('select 1')
      return
    } catch (error) {
      if (performance.now() > endMs) throw error
      await sleep(100)
    } finally {
      await client.end().catch(() => {})
    }
  }
}

function within<T>(timeoutMs: number, otherwise: string, promise: Promise<T>): Promise<T> {
  const tooLate = sleep(timeoutMs, undefined, { ref: false }).then(() => Promise.reject(new Error(otherwise)))
  return Promise.race([promise, tooLate])
}

function firstLine(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string }
  return (message || code || String(error)).split('\n')[0] ?? ''
}
