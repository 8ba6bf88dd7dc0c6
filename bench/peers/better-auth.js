// better-auth with its bearer plugin, with its own tables and its own user in the database.
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { toNodeHandler } from 'better-auth/node'
import { bearer } from 'better-auth/plugins'
import { announce, host, pool, port } from './serving.js'

const auth = betterAuth({
  baseURL: `http://${host}`,
  secret: randomBytes(32).toString('hex'),
  database: pool,
  emailAndPassword: { enabled: true },
  plugins: [bearer()],
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { disabled: true },
})

const { runMigrations } = await getMigrations(auth.options)
await runMigrations()

const { headers } = await auth.api.signUpEmail({
  body: { email: 'ada@example.com', name: 'Ada Lovelace', password: randomBytes(16).toString('hex') },
  returnHeaders: true,
})

const server = createServer(toNodeHandler(auth))
server.listen(port, host, () => {
  announce(server, { token: headers.get('set-auth-token'), request: 'GET /api/auth/get-session' })
})
