import { setTimeout as sleep } from 'node:timers/promises'
import { SERVICE_SECRET } from '../../support/running-app.ts'
import { openTcpProxy } from '../../support/tcp-proxy.ts'
import { withApp } from '../app.ts'
import { withDatabase } from '../pair.ts'
import type { Row } from '../row.ts'
import { shown } from '../scene.ts'

const READINESS = 'src/application/jobs/readiness.ts'

/** For so long what was found must agree before it is told, in milliseconds. */
const HELD_MS = 900
const PROBED_EVERY_MS = 25
const FOLLOWS_MS = 15_000
/** How long the database stays as it is: mostly too short to be told. */
const TURNS_MS = [50, 150, 300, 400, 600, 1200]

/** What a probe found, and what it was told; the time is that of its beginning. */
interface Probed {
  readonly fromMs: number
  readonly foundWell: boolean
  readonly ready: boolean
}

/** A database that comes and goes. */
export const flappingRows: readonly Row[] = [
  {
    id: 'M2',
    promise: 'a database that flaps: alive all the while, and as ready as it was until a second agrees',
    sizes: { ci: 20, release: 300, mutant: 12 },
    mutants: [
      {
        name: 'readiness is the last look',
        file: READINESS,
        find: '- contrarySinceMs >= HOLD_MS',
        replace: '- contrarySinceMs >= 0',
      },
      {
        name: 'a look of the old state does not begin the second anew',
        file: READINESS,
        find: 'if (isWell === ready) contrarySinceMs = null',
        replace: 'if (isWell === ready) return',
      },
      {
        name: 'what is ready stays so',
        file: READINESS,
        find: '        ready = isWell\n',
        replace: '        ready = true\n',
      },
      {
        name: 'a process whose database is away is not alive',
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
            // The first look that finds all well is believed at once.
            while ((await app.call('/readyz', { method: 'GET' })).status !== 200) await sleep(20)
            const probing = probe()
            try {
              for (let turn = 0; turn < trial.size; turn++) {
                if (turn % 2 === 0) proxy.refuse()
                else proxy.admit()
                await sleep(TURNS_MS[Math.floor(Math.random() * TURNS_MS.length)])
              }
              // Both ways it follows in the end.
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
                // Whichever way the machine stood still: what was found after this began is no older than it.
                const contrary = probed.filter(
                  (one) => one.foundWell !== now.ready && one.fromMs > toldMs - HELD_MS,
                ).length
                trial.expect(
                  contrary === 0,
                  () =>
                    `${now.ready ? 'ready' : 'not ready'}, and ${contrary} looks of the last second differ`,
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
