import { setTimeout as sleep } from 'node:timers/promises'
import type { Called } from '../../src/testing/call.ts'
import type { TestDatabase } from '../support/database.ts'
import type { RunningApp } from '../support/running-app.ts'
import { withApp } from './app.ts'
import { type OwnServer, withOwnServer } from './own-server.ts'
import type { Trial } from './row.ts'
import { isUnavailable } from './wire.ts'

/** The second in all that a request waits for the database, with what a busy machine adds. */
export const REFUSED_MS = 2000

const HEALED_MS = 10_000

/** An app with somebody logged in. */
export interface Scene {
  readonly app: RunningApp
  readonly email: string
  readonly token: string
}

/** Lends an app on this database whose every validation reads it, with somebody logged in. */
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

/** The same on a server of its own, with that server. */
export async function withServerScene(
  trial: Trial,
  env: Record<string, string>,
  play: (scene: Scene & { readonly server: OwnServer }) => Promise<void>,
): Promise<void> {
  await withOwnServer(trial, (server) =>
    withScene(trial, server.database, env, (scene) => play({ ...scene, server })),
  )
}

/** Whether the caller is told to come again, compared whole. */
export function isRefused({ status, headers, body }: Called): boolean {
  return status === 503 && isUnavailable(headers.get('retry-after'), headers.get('x-request-id'), body)
}

/** A good token may only be accepted, or told to come again: never a false 401, never a 500. */
export function isRight(answer: Called): boolean {
  return answer.status === 200 || isRefused(answer)
}

/** What an answer was, for whoever reads that it was wrong. */
export function shown({ status, headers, body }: Called): string {
  return `${status}, Retry-After ${headers.get('retry-after')}, ${JSON.stringify(body)}`
}

export async function timed<T>(call: Promise<T>): Promise<readonly [T, number]> {
  const beganMs = performance.now()
  return [await call, performance.now() - beganMs]
}

/** What so large a share of the measurements is at most. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? 0
}

export function shownTimes(timesMs: readonly number[]): string {
  const at = (share: number) => quantile(timesMs, share).toFixed(1)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at the most ${at(1)} ms of ${timesMs.length}`
}

/** Milliseconds until the call is answered 200. */
export async function untilServed(
  trial: Trial,
  call: () => Promise<Called>,
  withinMs = HEALED_MS,
): Promise<number> {
  const beganMs = performance.now()
  for (;;) {
    const answer = await call()
    const ms = performance.now() - beganMs
    if (answer.status === 200 || ms > withinMs) {
      trial.expect(answer.status === 200, () => `not healed within ${withinMs} ms: ${shown(answer)}`)
      return ms
    }
    await sleep(20)
  }
}

/** Sends a signal, to a process that may have ended by itself. */
export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has.
  }
}
