// The limit without gathering: one named query a look-up, 64 in flight, through a pool of as many connections as the
// product has. Given a file of secrets and a number of seconds, prints how many a second.
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import pg from 'pg'

const [file, seconds] = process.argv.slice(2)
const digests = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((secret) => hash('sha256', secret, 'buffer'))
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const text = `
  select login_tokens.id as token_id, login_tokens.customer_id, login_tokens.name as token_name, login_tokens.abilities,
         login_tokens.created_at as token_created_at, login_tokens.expires_at, login_tokens.revoked_at,
         customers.email, customers.name, customers.created_at, customers.disabled_at
    from login_tokens join customers on customers.id = login_tokens.customer_id
   where login_tokens.token_hash = $1`

let found = 0
const beganMs = performance.now()
const endMs = beganMs + Number(seconds) * 1000
await Promise.all(
  Array.from({ length: 64 }, async (_, worker) => {
    for (let at = worker; performance.now() < endMs; at = (at + 64) % digests.length) {
      const { rows } = await pool.query({ name: 'find', text, values: [digests[at]] })
      if (rows.length !== 1) throw new Error('A token was not found.')
      found += 1
    }
  }),
)
process.stdout.write(`${(found / (performance.now() - beganMs)) * 1000}\n`)
await pool.end()
