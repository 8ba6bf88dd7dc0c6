/**
 * Makes a database of better-auth with @better-auth/api-key, and prints the rows of the export and the header of each client:
 * npm install --legacy-peer-deps better-auth@1.6.25 @better-auth/api-key@1.6.25 pg; node better-auth.js <PostgreSQL URL>
 */
import { apiKey } from '@better-auth/api-key'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.argv[2] })
const options = {
  database: pool,
  secret: 'a secret of the recorded peers, 32 characters or more',
  baseURL: 'http://127.0.0.1:1',
  emailAndPassword: { enabled: true },
  plugins: [apiKey()],
}
const auth = betterAuth(options)
await (await getMigrations(options)).runMigrations()
const authorizations = []
for (let n = 1; n <= 3; n++) {
  const body = { email: `peer${n}@example.com`, password: 'correct horse 9', name: `Peer ${n}` }
  const { user } = await auth.api.signUpEmail({ body })
  const created = await auth.api.createApiKey({
    body: { userId: user.id, name: `key ${n}`, permissions: { orders: ['read', 'write'] } },
  })
  if (!(await auth.api.verifyApiKey({ body: { key: created.key } })).valid)
    throw new Error('refused by its peer')
  authorizations.push(`Bearer ${created.key}`)
}
const { rows } = await pool.query(`
  select k.name, k.key, k."referenceId", k.enabled, k.remaining, k.permissions, k."createdAt", k."expiresAt", k."lastRequest", u.email
    from apikey k join "user" u on u.id = k."referenceId" order by u.email`)
await pool.end()
const system = 'better-auth 1.6.25, @better-auth/api-key 1.6.25'
process.stdout.write(
  `${JSON.stringify({ system, from: 'better-auth', options: [], rows, authorizations }, null, 2)}\n`,
)
process.exit(0)
