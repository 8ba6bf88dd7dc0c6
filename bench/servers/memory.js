// The memory of cached validations: given the folder of the compiled product and a number, prints the bytes of heap for that
// number of customers with their responses, and the longest pause of the event loop, in milliseconds, while all expire.
import { createHash, randomUUID } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

const [dist, count] = process.argv.slice(2)
const { cachedLoginTokens } = await import(`${dist}/application/login-tokens/cached.js`)
const { nodeCache } = await import(`${dist}/adapters/node-cache/cache.js`)
const { memoryInvalidations } = await import(`${dist}/adapters/memory/invalidations.js`)
const { systemClock } = await import(`${dist}/adapters/system-clock/clock.js`)
const { cachedBodies } = await import(`${dist}/adapters/http/response/json-body.js`)
const { LOGIN_TOKEN_ABILITIES, LOGIN_TOKEN_NAME } = await import(`${dist}/domain/login-token.js`)
const { presentProfile, profile } = await import(`${dist}/adapters/http/routes/profile.js`)

const TTL_MS = 8000
const digestOf = (n) => createHash('sha256').update(String(n)).digest('hex')
const present = cachedBodies(profile, presentProfile)
const stored = {
  // Like rows of the database, which share nothing.
  async findByDigest() {
    const id = flat(randomUUID())
    const nowMs = Date.now()
    const customer = {
      id,
      email: flat(`${id.slice(0, 12)}@example.com`),
      name: flat('Ada Lovelace'),
      createdAtMs: nowMs,
      disabledAtMs: null,
    }
    const token = {
      id: flat(randomUUID()),
      customerId: id,
      name: LOGIN_TOKEN_NAME,
      abilities: LOGIN_TOKEN_ABILITIES,
      createdAtMs: nowMs,
      expiresAtMs: nowMs + 86_400_000,
      revokedAtMs: null,
      lastUsedAtMs: null,
    }
    return { token, customer }
  },
}
// A separate string, as the driver creates them, not a slice of another.
function flat(text) {
  return Buffer.from(text).toString()
}

const cache = nodeCache({ maxEntries: Number(count) })
let expired = 0
const counted = {
  ...cache,
  onRemoved(listener) {
    cache.onRemoved((key, value) => {
      expired += 1
      listener(key, value)
    })
  },
}
const tokens = cachedLoginTokens(stored, counted, memoryInvalidations(), systemClock, { ttlMs: TTL_MS })

global.gc()
const beforeBytes = process.memoryUsage().heapUsed
for (let n = 0; n < Number(count); n++) present(await tokens.findByDigest(digestOf(n), 1000))
global.gc()
const bytes = process.memoryUsage().heapUsed - beforeBytes

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
await sleep(TTL_MS + 4000)
delay.disable()
if (expired !== Number(count)) throw new Error(`${expired} of ${count} have expired.`)
process.stdout.write(`${JSON.stringify({ bytes, longestStopMs: delay.max / 1e6 })}\n`)
