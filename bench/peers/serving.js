// The parts that the other servers share: the pool, the line that they print, and their exit.
import pg from 'pg'

export const port = Number(process.env.PORT ?? 0)
export const host = '127.0.0.1'

export const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: 10,
})
pool.on('error', () => {})

/** Prints the address of the server, and makes it exit on SIGTERM. */
export function announce(server, more = {}) {
  process.once('SIGTERM', () => {
    server.close()
    server.closeAllConnections()
    void pool.end()
  })
  process.stdout.write(`${JSON.stringify({ address: `http://${host}:${server.address().port}`, ...more })}\n`)
}
