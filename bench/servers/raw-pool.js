// The limit without batching: one named query for each lookup, 64 at once, through a pool of as many connections as the
// product has. Looks up the secrets of a file for a number of seconds, and prints the lookups per second.
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import pg from 'pg'

const [file, seconds] = process.argv.slice(2)
const secrets = readFileSync(file, 'utf8').split('\n')
const digests = secrets.map((secret) => hash('sha256', secret, 'buffer'))
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const text = `
  select login_tokens.id as token_id, login_tokens.customer_id, login_tokens.name as token_name, login_tokens.abilities,
         login_tokens.created_at as token_created_at, login_tokens.expires_at, login_tokens.revoked_at,
         customers.email, customers.name, customers.created_at, customers.disabled_at
    from login_tokens join customers on customers.id = login_tokens.customer_id
   where login_tokens.token_hash = $1`

let found = 0
const startMs = performance.now()
const endMs = startMs + Number(seconds) * 1000
await Promise.all(
  Array.from({ length: 64 }, async (_, worker) => {
    for (let at = worker; performance.now() < endMs; at = (at + 64) % digests.length) {
      const { rows } = await pool.query({ name: 'find', text, values: [digests[at]] })
      if (rows.length !== 1) throw new Error('A token was not found.')
      found += 1
    }
  }),
)
process.stdout.write(`${(found / (performance.now() - startMs)) * 1000}\n`)
await pool.end()
