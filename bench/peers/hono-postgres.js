// Hono with a query for each request.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { findProfile, readSecret, sha256 } from './lookup.js'
import { announce, host, port } from './serving.js'

const app = new Hono()

app.post('/api/me', async (context) => {
  const secret = readSecret(context.req.header('authorization'))
  const me = secret === null ? null : await findProfile(sha256(secret))
  return me === null ? context.json({ success: false }, 401) : context.json(me)
})

const server = serve({ fetch: app.fetch, hostname: host, port }, () => announce(server))
