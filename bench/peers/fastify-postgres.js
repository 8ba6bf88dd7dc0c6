// Fastify that asks PostgreSQL on each request.
import Fastify from 'fastify'
import { digestOf, secretOf, whoAmI } from './lookup.js'
import { announce, host, port } from './serving.js'

const app = Fastify()

app.post('/api/me', async (request, reply) => {
  const secret = secretOf(request.headers.authorization)
  const me = secret === null ? null : await whoAmI(digestOf(secret))
  return me ?? reply.code(401).send({ success: false })
})

await app.listen({ host, port })
announce(app.server)
