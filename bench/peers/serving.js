// What the peers share of their process: the pool, the one line that they print, and their end.
import pg from 'pg'

export const port = Number(process.env.PORT ?? 0)
export const host = '127.0.0.1'

export const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: 10,
  // Longer than the others of a round take: nobody pays for connecting anew in the next one.
  idleTimeoutMillis: 60_000,
})
pool.on('error', () => {})

/** Tells where the server listens, and ends with SIGTERM. */
export function announce(server, more = {}) {
  process.once('SIGTERM', () => {
    server.close()
    server.closeAllConnections()
    void pool.end()
  })
  process.stdout.write(`${JSON.stringify({ address: `http://${host}:${server.address().port}`, ...more })}\n`)
}
