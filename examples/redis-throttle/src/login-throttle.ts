import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LoginAttempt, LoginLimits, LoginThrottle } from 'latchkey/ports'
import { guessLimit, Unavailable } from 'latchkey/ports'
import { createClient, ErrorReply } from 'redis'

const SCRIPT = readFileSync(new URL('attempts.lua', import.meta.url), 'utf8')
/** Without a limit, no failure lasts, and no number of slots is too large. */
const OFF = { failures: Number.MAX_SAFE_INTEGER, windowMs: 0 }

type RedisClient = ReturnType<typeof createRedisClient>

/** Creates a client whose calls reject while it has no connection. It connects again by itself after `connect`. */
export function createRedisClient(url: string, { socketTimeoutMs = 5000 } = {}) {
  const socket = {
    socketTimeout: socketTimeoutMs,
    // By default, the client gives up after a timeout of its socket.
    reconnectStrategy: (retries: number) => Math.min(2 ** retries * 50, 2000),
  }
  // Without pings, a connection to a host that is gone would be used until TCP gives up.
  const pingInterval = socketTimeoutMs / 5
  return createClient({ url, disableOfflineQueue: true, pingInterval, socket }).on('error', () => {})
}

/** Counts in Redis, exactly over all processes with the same server. */
export function redisLoginThrottle(client: RedisClient, limits: LoginLimits): LoginThrottle {
  const [account, address] = [limits.loginLimitAccount ?? OFF, limits.loginLimitAddress ?? OFF]
  const parameters = JSON.stringify({ account, address, ...guessLimit(limits) })
  const run = async (attempt: LoginAttempt, args: readonly string[], timeoutMs: number) => {
    const reply = client.eval(SCRIPT, { keys: toKeys(attempt), arguments: [parameters, ...args] })
    return JSON.parse(String(await inTime(reply, timeoutMs)))
  }
  return {
    async take({ account, address }, timeoutMs) {
      const admission = await run({ account, address }, ['take'], timeoutMs)
      return admission.slot ? { ...admission, slot: { account, address, ...admission.slot } } : admission
    },
    async settle(slot, outcome, timeoutMs) {
      await run(slot, [outcome, `${slot.takenAtMs}`, `${slot.isKnown}`], timeoutMs)
    },
    async forget(account, timeoutMs) {
      await run({ account, address: '' }, ['forget'], timeoutMs)
    },
  }
}

function inTime<T>(reply: Promise<T>, timeoutMs: number): Promise<T> {
  const ended = new AbortController()
  const timeout = sleep(timeoutMs, null, { signal: ended.signal }).then(() => Promise.reject('timeout'))
  const settled = Promise.race([reply, timeout]).catch((error) => {
    // A fault of the script. Other replies, such as READONLY and OOM, say that the server cannot write now.
    if (error instanceof ErrorReply && error.message.startsWith('ERR')) throw error
    throw new Unavailable({ cause: error })
  })
  return settled.finally(() => ended.abort())
}

/** Returns the keys of account and address together, of the address, and of the account, without their texts. */
function toKeys({ account, address }: LoginAttempt): string[] {
  return [`pair\0${account}\0${address}`, `address\0${address}`, `account\0${account}`].map(
    (key) => `latchkey:${createHash('sha256').update(key).digest('base64url')}`,
  )
}
