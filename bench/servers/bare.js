// The limit: a node:http server that sends a small body with two headers and does nothing else.
import { createServer } from 'node:http'

const text = JSON.stringify({ success: true, padding: 'x'.repeat(149) })
const headers = ['Content-Type', 'application/json', 'Content-Length', String(text.length)]

const server = createServer((_, response) => {
  response.writeHead(200, headers)
  response.end(text)
})
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`{"address":"http://127.0.0.1:${server.address().port}"}\n`)
})
process.once('SIGTERM', () => process.exit())
