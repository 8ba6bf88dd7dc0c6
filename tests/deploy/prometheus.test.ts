import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { callAt } from '../../src/testing/call.ts'
import { RULES_FILE } from '../support/alert-rules.ts'
import { EMAIL, PASSWORD, programSuite } from '../support/program-suite.ts'
import { type PrometheusServer, startPrometheus, withoutPrometheus } from '../support/prometheus-server.ts'
import { temporaryFolder } from '../support/running-process.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

const DASHBOARD = join(import.meta.dirname, '../../deploy/grafana-dashboard.json')
/** How long nothing may fire while the service is healthy and under load. */
const HEALTHY_MS = 10 * 60_000
const isShort = process.env.TEST_LONG !== '1' && 'HEALTHY MINUTES WERE NOT TESTED: TEST_LONG=1 tests them'

/** The part of the dashboard that has queries. */
interface Dashboard {
  readonly templating: {
    readonly list: readonly { readonly type: string; readonly query: string | { readonly query: string } }[]
  }
  readonly panels: readonly {
    readonly title: string
    readonly targets: readonly { readonly expr: string }[]
  }[]
}

const suite = programSuite()

describe('On a real Prometheus', { skip: withoutPrometheus || postgresAlone }, () => {
  for (const workers of ['1', '2'])
    test(`no panel of the dashboard is empty under load, with WORKERS=${workers}`, async (t) => {
      const { url, prometheus } = await watch(t, { WORKERS: workers })
      const panels = panelQueries()
      assert.ok(panels.length > 30)
      let empty: readonly string[] = []
      let isDone = false
      const load = (async () => {
        for (const token = await login(url); !isDone; await sleep(20)) {
          await callAt(url, '/api/me', { token })
          await login(url, 'wrong')
        }
      })()
      await until(async () => {
        const found = await Promise.all(panels.map(({ expr }) => hasData(prometheus, expr)))
        empty = panels.filter((_, at) => !found[at]).map(({ title, expr }) => `${title}: ${expr}`)
        return empty.length === 0
      }).catch(() => {})
      isDone = true
      await load
      assert.deepEqual(empty, [])
    })

  test('nothing fires while the service is healthy and under load', { skip: isShort }, async (t) => {
    const { url, prometheus } = await watch(t)
    const token = await login(url)
    let requests = 0
    for (const endMs = Date.now() + HEALTHY_MS; Date.now() < endMs; await sleep(20)) {
      requests++
      await callAt(url, '/api/me', { token })
      if (requests % 50 === 0) await login(url, 'wrong')
    }
    t.diagnostic(`${requests} requests in ${HEALTHY_MS / 60_000} minutes`)
    assert.deepEqual(await prometheus.fired(), [])
    assert.deepEqual(await prometheus.failedRules(), [])
  })
})

/** Starts a service, and a Prometheus that reads its metrics and has the shipped rules. */
async function watch(t: { after(done: () => unknown): void }, env: Readonly<Record<string, string>> = {}) {
  const { service, url } = await suite.start({ METRICS_PORT: '0', ...env })
  t.after(async () => {
    service.child.kill('SIGKILL')
    await service.ended
  })
  const [, target = ''] = await service.until(/"address":"http:\/\/([^"]+)","event":"metrics.started"/)
  const folder = await temporaryFolder()
  t.after(() => folder.remove())
  const prometheus = await startPrometheus(folder.path, RULES_FILE, [{ job: 'latchkey', target }])
  t.after(prometheus.stop)
  await until(async () => (await prometheus.query('up == 1')).length === 1)
  return { url, prometheus }
}

/** Returns the queries of the panels and of the variables, with the choices of a reader who changes nothing. */
function panelQueries(): readonly { readonly title: string; readonly expr: string }[] {
  const { templating, panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as Dashboard
  const variables = templating.list.flatMap(({ query }) =>
    typeof query === 'string' ? [] : [{ title: query.query, expr: metricOfVariable(query.query) }],
  )
  const all = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })))
  return [...variables, ...all].map(({ title, expr }) => ({
    title,
    expr: expr
      .replaceAll('$job', '.*')
      .replaceAll('$instance', '.*')
      // Four intervals of reading, as Grafana computes it.
      .replaceAll('$__rate_interval', '4s'),
  }))
}

/** Returns the query within `label_values(<query>, <label>)`, which Grafana resolves itself. */
function metricOfVariable(query: string): string {
  return /^label_values\((.*), \w+\)$/.exec(query)?.[1] ?? assert.fail(query)
}

/** Whether a query has a value that a chart can show. */
async function hasData(prometheus: PrometheusServer, expr: string): Promise<boolean> {
  const samples = await prometheus.query(expr)
  return samples.some(({ value }) => Number.isFinite(value))
}

async function login(url: string, password = PASSWORD): Promise<string> {
  const { body } = await callAt(url, '/api/login', { body: { email: EMAIL, password } })
  return body.token
}
