// The limit: a node:http server that sends a small body with two headers and does nothing else. EMPTY=1 leaves out the body.
import { createServer } from 'node:http'

const text = JSON.stringify({ success: true, padding: 'x'.repeat(149) })
const isEmpty = process.env.EMPTY === '1'
const headers = isEmpty
  ? ['Content-Length', '0']
  : ['Content-Type', 'application/json', 'Content-Length', String(text.length)]

const server = createServer((_, response) => {
  response.writeHead(200, headers)
  response.end(isEmpty ? undefined : text)
})
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`{"address":"http://127.0.0.1:${server.address().port}"}\n`)
})
process.once('SIGTERM', () => process.exit())
