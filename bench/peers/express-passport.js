// Express with passport's bearer strategy and a query for each request.
import express from 'express'
import passport from 'passport'
import { Strategy } from 'passport-http-bearer'
import { findProfile, sha256 } from './lookup.js'
import { announce, host, port } from './serving.js'

passport.use(
  new Strategy((secret, done) => {
    findProfile(sha256(secret)).then((me) => done(null, me ?? false), done)
  }),
)

const app = express()
app.disable('x-powered-by')
app.disable('etag')

app.post('/api/me', passport.authenticate('bearer', { session: false }), (request, response) => {
  response.json(request.user)
})

const server = app.listen(port, host, () => announce(server))
