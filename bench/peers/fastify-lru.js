// Fastify that keeps what PostgreSQL said for a minute, as the text of the answer: the fastest that it can be kept.
import Fastify from 'fastify'
import { LRUCache } from 'lru-cache'
import { digestOf, secretOf, whoAmI } from './lookup.js'
import { announce, host, port } from './serving.js'

const KEPT_MS = 60_000
const REFUSED = JSON.stringify({ success: false })

const app = Fastify()
const known = new LRUCache({ max: 100_000, ttl: KEPT_MS })

app.post('/api/me', async (request, reply) => {
  reply.type('application/json')
  const secret = secretOf(request.headers.authorization)
  const digest = secret === null ? null : digestOf(secret)
  const answer = digest === null ? null : (known.get(digest) ?? (await find(digest)))
  return answer ?? reply.code(401).send(REFUSED)
})

async function find(digest) {
  const me = await whoAmI(digest)
  if (me === null) return null
  const answer = JSON.stringify(me)
  const endsAt = me.token.expires_at
  const restMs = endsAt === null ? KEPT_MS : Date.parse(endsAt) - Date.now()
  // Nothing outlives its token; a ttl of 0 would mean for ever.
  if (restMs > 0) known.set(digest, answer, { ttl: Math.min(KEPT_MS, restMs) })
  return answer
}

await app.listen({ host, port })
announce(app.server)
