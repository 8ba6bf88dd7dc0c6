// Fastify with lru-cache in front of PostgreSQL. It caches the text of a response, which is the fastest way.
import { randomBytes, randomUUID } from 'node:crypto'
import { verify } from '@node-rs/bcrypt'
import Fastify from 'fastify'
import { LRUCache } from 'lru-cache'
import { findProfile, readSecret, sha256 } from './lookup.js'
import { announce, host, pool, port } from './serving.js'

/** 0 disables the cache. */
const TTL_MS = Number(process.env.CACHE_TTL_MS ?? 60_000)
const REJECTED = JSON.stringify({ success: false })

const app = Fastify()
const cache = new LRUCache({ max: 100_000, ttl: TTL_MS || 1 })

app.post('/api/me', async (request, reply) => {
  reply.type('application/json')
  const secret = readSecret(request.headers.authorization)
  const digest = secret === null ? null : sha256(secret)
  const response = digest === null ? null : (cache.get(digest) ?? (await find(digest)))
  return response ?? reply.code(401).send(REJECTED)
})

app.post('/api/login', async (request, reply) => {
  const { email, password } = request.body
  const { rows } = await pool.query({
    name: 'account',
    text: 'select id, password_hash from customers where lower(email collate "C") = lower($1 collate "C") and disabled_at is null',
    values: [email],
  })
  const [account] = rows
  if (!account?.password_hash || !(await verify(password, account.password_hash)))
    return reply.code(401).send({ success: false })
  const secret = randomBytes(32).toString('base64url')
  await pool.query({
    name: 'replace',
    text: `
      with revoked as (
        update login_tokens set revoked_at = now()
         where customer_id = $1 and name = 'login' and revoked_at is null returning token_hash
      )
      insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, expires_at)
      select $2, $1, 'login', $3, '{*}', now(), now() + interval '30 days' from (select count(*) from revoked) as done`,
    values: [account.id, randomUUID(), Buffer.from(sha256(secret), 'hex')],
  })
  return { success: true, token: secret }
})

async function find(digest) {
  const profile = await findProfile(digest)
  if (profile === null) return null
  const response = JSON.stringify(profile)
  const expiresAt = profile.token.expires_at
  const remainingMs = expiresAt === null ? TTL_MS : Date.parse(expiresAt) - Date.now()
  const ttl = Math.min(TTL_MS, remainingMs)
  // lru-cache would keep an entry with a ttl of 0 forever.
  if (ttl > 0) cache.set(digest, response, { ttl })
  return response
}

await app.listen({ host, port })
announce(app.server)
