import { setTimeout as sleep } from 'node:timers/promises'
import type { Called } from '../src/testing/call.ts'
import type { TestDatabase } from '../tests/support/database.ts'
import type { RunningApp } from '../tests/support/running-app.ts'
import { withApp } from './app.ts'
import { type OwnServer, withOwnServer } from './own-server.ts'
import type { Trial } from './row.ts'
import { isUnavailable } from './wire.ts'

/** The deadline of a second for the database, plus what a busy machine adds, in milliseconds. */
export const REFUSED_MS = 2000

const HEALED_MS = 10_000

/** An app with a logged-in customer. */
export interface Scene {
  readonly app: RunningApp
  readonly email: string
  readonly token: string
}

/** Starts an app on this database without a token cache, with a logged-in customer. */
export async function withScene(
  trial: Trial,
  database: TestDatabase,
  env: Record<string, string>,
  play: (scene: Scene) => Promise<void>,
): Promise<void> {
  await withApp(trial, { database, env: { TOKEN_CACHE_TTL: '0s', ...env } }, async (app) => {
    const { email } = await app.addCustomer()
    await play({ app, email, token: await app.login(email) })
  })
}

/** The same on a separate server, which it passes too. */
export async function withServerScene(
  trial: Trial,
  env: Record<string, string>,
  play: (scene: Scene & { readonly server: OwnServer }) => Promise<void>,
): Promise<void> {
  await withOwnServer(trial, (server) =>
    withScene(trial, server.database, env, (scene) => play({ ...scene, server })),
  )
}

/** Whether the response is the complete 503 that asks the client to retry. */
export function isRefused({ status, headers, body }: Called): boolean {
  return status === 503 && isUnavailable(headers.get('retry-after'), headers.get('x-request-id'), body)
}

/** Whether a response to a valid token is allowed: a 200, or a 503 that asks to retry. Never a 401 or a 500. */
export function isRight(response: Called): boolean {
  return response.status === 200 || isRefused(response)
}

/** Describes a response, for error messages. */
export function shown({ status, headers, body }: Called): string {
  return `${status}, Retry-After ${headers.get('retry-after')}, ${JSON.stringify(body)}`
}

export async function timed<T>(call: Promise<T>): Promise<readonly [T, number]> {
  const beganMs = performance.now()
  return [await call, performance.now() - beganMs]
}

/** Returns the quantile of the measurements. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? 0
}

export function shownTimes(timesMs: readonly number[]): string {
  const at = (share: number) => quantile(timesMs, share).toFixed(1)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at the most ${at(1)} ms of ${timesMs.length}`
}

/** Returns the time until the call gets a 200, in milliseconds. */
export async function untilServed(
  trial: Trial,
  call: () => Promise<Called>,
  withinMs = HEALED_MS,
): Promise<number> {
  const beganMs = performance.now()
  for (;;) {
    const response = await call()
    const ms = performance.now() - beganMs
    if (response.status === 200 || ms > withinMs) {
      trial.expect(response.status === 200, () => `not healed within ${withinMs} ms: ${shown(response)}`)
      return ms
    }
    await sleep(20)
  }
}

/** Sends a signal to a process that may have exited. */
export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has exited.
  }
}
