import { randomBytes } from 'node:crypto'
import { ownCommand } from '../adapters/cli/own-command.ts'
import { firstWelcome, laterWelcome } from '../adapters/cli/welcome.ts'
import type { Configuration } from '../application/configuration.ts'
import type { OpenDatabase } from '../application/ports/database.ts'
import type { UseCases } from '../application/use-cases/use-cases.ts'

const DEMO_EMAIL = 'demo@example.com'

/**
 * Returns the text that a started service prints for its operator. On the first start of an embedded database it creates
 * a demo customer, unless `NODE_ENV` is `production`.
 */
export async function createWelcome({
  url,
  address,
  database: { dataDir = null, fresh = false, notes = [] },
  useCases: { customers, deadline },
  configuration: { production, docs: hasDocs },
}: {
  readonly url: string
  readonly address: string
  readonly database: OpenDatabase
  readonly useCases: UseCases
  readonly configuration: Configuration
}): Promise<string> {
  const start = { url, address, hasDocs, command: ownCommand() }
  const noted = notes.map((note) => `latchkey: ${note}\n`).join('')
  if (dataDir === null || !fresh || production) return noted + laterWelcome({ ...start, dataDir })
  const demo = { email: DEMO_EMAIL, password: randomBytes(12).toString('base64url') }
  try {
    await customers.add({ email: demo.email, name: 'Demo', password: demo }, deadline())
    return noted + firstWelcome({ ...start, dataDir, demo })
  } catch {
    // The service is running: a slow machine that cannot create the demo customer in time must not stop it.
    return noted + laterWelcome({ ...start, dataDir })
  }
}
