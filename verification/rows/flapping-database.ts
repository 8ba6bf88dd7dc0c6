import { setTimeout as sleep } from 'node:timers/promises'
import { SERVICE_SECRET } from '../../tests/support/running-app.ts'
import { openTcpProxy } from '../../tests/support/tcp-proxy.ts'
import { withApp } from '../app.ts'
import { withDatabase } from '../pair.ts'
import type { Row } from '../row.ts'
import { shown } from '../scene.ts'

const READINESS = 'src/application/jobs/readiness.ts'

/** How long probes must agree before readiness changes, in milliseconds. */
const HELD_MS = 900
const PROBED_EVERY_MS = 25
const FOLLOWS_MS = 15_000
/** How long the database stays in one state, in milliseconds: mostly too short to change readiness. */
const TURNS_MS = [50, 150, 300, 400, 600, 1200]

/** What a probe found, and the readiness that it returned. The time is that of its start. */
interface Probed {
  readonly fromMs: number
  readonly foundWell: boolean
  readonly ready: boolean
}

/** A database whose availability flaps. */
export const flappingRows: readonly Row[] = [
  {
    id: 'M2',
    promise: 'a database that flaps: always alive, and readiness changes only when probes agree for a second',
    sizes: { ci: 20, release: 300, mutant: 12 },
    mutants: [
      {
        name: 'readiness is the last probe',
        file: READINESS,
        find: '- contrarySinceMs >= HOLD_MS',
        replace: '- contrarySinceMs >= 0',
      },
      {
        name: 'a probe of the old state does not restart the second',
        file: READINESS,
        find: 'if (isWell === ready) contrarySinceMs = null',
        replace: 'if (isWell === ready) return',
      },
      {
        name: 'a ready service stays ready',
        file: READINESS,
        find: '        ready = isWell\n',
        replace: '        ready = true\n',
      },
      {
        name: 'a process whose database is down is not alive',
        file: 'src/adapters/http/routes/probe-routes.ts',
        find: 'handle: () => undefined',
        replace: `async handle() {
        if (!(await report()).ready) throw new NotReady(null)
      }`,
      },
    ],
    run: (trial) =>
      withDatabase(async (database) => {
        const proxy = await openTcpProxy(database.url)
        const env = { DATABASE_URL: proxy.url, LOG_LEVEL: 'silent' }
        try {
          await withApp(trial, { database, env }, async (app) => {
            const probed: Probed[] = []
            let isOver = false
            // The first successful probe is believed at once.
            while ((await app.call('/readyz', { method: 'GET' })).status !== 200) await sleep(20)
            const probing = probe()
            try {
              for (let turn = 0; turn < trial.size; turn++) {
                if (turn % 2 === 0) proxy.refuse()
                else proxy.admit()
                await sleep(TURNS_MS[Math.floor(Math.random() * TURNS_MS.length)])
              }
              // Readiness follows the database in both directions in the end.
              proxy.refuse()
              await until(false, 'stays ready without a database')
              proxy.admit()
              await until(true, 'is not ready again')
            } finally {
              proxy.admit()
              isOver = true
              await probing
            }
            const changes = probed.filter(({ ready }, at) => at > 0 && ready !== probed[at - 1]?.ready).length
            const semaphore = probed.filter(
              ({ foundWell }, at) => at > 0 && foundWell !== probed[at - 1]?.foundWell,
            ).length
            trial.note(
              `the database was seen to come or go ${semaphore} times; readiness changed ${changes} times`,
            )

            async function probe(): Promise<void> {
              for (; !isOver; await sleep(PROBED_EVERY_MS)) {
                const fromMs = performance.now()
                const [readyz, livez] = await Promise.all([
                  app.call('/readyz', { method: 'GET', token: SERVICE_SECRET }),
                  app.call('/livez', { method: 'GET' }),
                ])
                trial.expect(livez.status === 200, () => `livez is ${shown(livez)}`)
                const toldMs = performance.now()
                const now: Probed = {
                  fromMs,
                  foundWell: readyz.body.checks.database === 'ok',
                  ready: readyz.status === 200,
                }
                const was = probed.at(-1)
                probed.push(now)
                if (was === undefined || was.ready === now.ready) continue
                // Even on a stalled machine, a result after this start is no older than it.
                const contrary = probed.filter(
                  (one) => one.foundWell !== now.ready && one.fromMs > toldMs - HELD_MS,
                ).length
                trial.expect(
                  contrary === 0,
                  () =>
                    `${now.ready ? 'ready' : 'not ready'}, and ${contrary} probes of the last second differ`,
                )
              }
            }

            async function until(ready: boolean, otherwise: string): Promise<void> {
              const endMs = performance.now() + FOLLOWS_MS
              while (probed.at(-1)?.ready !== ready && performance.now() < endMs) await sleep(20)
              trial.expect(probed.at(-1)?.ready === ready, () => otherwise)
            }
          })
        } finally {
          await proxy.close()
        }
      }),
  },
]
