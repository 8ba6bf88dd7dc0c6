// Fastify with a query for each request.
import Fastify from 'fastify'
import { findProfile, readSecret, sha256 } from './lookup.js'
import { announce, host, port } from './serving.js'

const app = Fastify()

app.post('/api/me', async (request, reply) => {
  const secret = readSecret(request.headers.authorization)
  const me = secret === null ? null : await findProfile(sha256(secret))
  return me ?? reply.code(401).send({ success: false })
})

await app.listen({ host, port })
announce(app.server)
