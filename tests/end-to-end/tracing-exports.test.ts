import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { callAt } from '../../src/testing/call.ts'
import { findNodes } from '../support/nodes.ts'
import { install } from '../support/packed.ts'
import { EMAIL, PASSWORD, programSuite } from '../support/program-suite.ts'
import {
  latchkeyProgram,
  type RunningProcess,
  startProcess,
  temporaryFolder,
  UNTHROTTLED,
} from '../support/running-process.ts'
import { until } from '../support/until.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const FIXTURES = join(import.meta.dirname, 'fixtures')
/** A minute without requests in the long form, as in the shown measurement. */
const IDLE_MS = process.env.TEST_LONG === '1' ? 60_000 : 5_000

/** The newest packages that run on Node 20, and the newest of all, which need Node 22.15. */
const RELEASES = [
  { sdk: '0.223.0', instrumentations: '0.81.2', api: '1.9.1', nodes: ['20', '22', '24'] },
  { sdk: '0.301.0', instrumentations: '0.82.0', api: '1.10.0', nodes: ['24'] },
] as const

/** An exported span, as far as these tests read it. */
interface Span {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: readonly {
    readonly key: string
    readonly value: Record<string, unknown>
  }[]
}

const SERVER = 2
const suite = programSuite()
const nodes = findNodes()

for (const { sdk, instrumentations, api, nodes: lines } of RELEASES) {
  const node = nodes.find(
    ({ name, path }) => path !== null && lines.some((line) => name.startsWith(`Node ${line}.`)),
  )
  describe(`with @opentelemetry/sdk-node ${sdk} and auto-instrumentations ${instrumentations}`, {
    skip: node === undefined && `no Node ${lines.join(' or ')} is at hand; TEST_NODES names others`,
  }, () => {
    let folder: Awaited<ReturnType<typeof temporaryFolder>>
    let missing: string | null = null
    before(async () => {
      folder = await temporaryFolder()
      writeFileSync(join(folder.path, 'package.json'), '{ "type": "module" }\n')
      missing = await install(folder.path, [
        `@opentelemetry/sdk-node@${sdk}`,
        `@opentelemetry/auto-instrumentations-node@${instrumentations}`,
        `@opentelemetry/api@${api}`,
      ])
      copyFileSync(join(FIXTURES, 'auto-tracing.js'), join(folder.path, 'tracing.js'))
    })
    after(() => folder?.remove())

    test('a collector receives one named span for each request, with lookups as children, and none when idle', async (t) => {
      if (missing !== null) return t.skip(`TRACING WAS NOT TESTED: ${missing}`)
      const file = join(folder.path, 'spans.jsonl')
      const collector = await startCollector(file, folder.path)
      t.after(() => collector.process.child.kill('SIGKILL'))
      const { service, url } = await startOn(node?.path ?? '', folder.path, {
        NODE_OPTIONS: `--import ${pathToFileURL(join(folder.path, 'tracing.js')).href}`,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_METRICS_EXPORTER: 'none',
        OTEL_LOGS_EXPORTER: 'none',
        OTEL_BSP_SCHEDULE_DELAY: '200',
        OTEL_NODE_RESOURCE_DETECTORS: 'none',
        ACCESS_LOG: 'all',
      })
      const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, 'X-Request-Id': 'r-login' }
      const { body } = await callAt(url, '/api/login', {
        body: { email: EMAIL, password: PASSWORD },
        headers,
      })
      const token = body.token as string
      await callAt(url, '/api/me?canary=1', { token, headers: { 'X-Request-Id': 'r-me' } })
      await callAt(url, '/api/me', { headers: { 'X-Request-Id': 'r-denied' } })
      await callAt(url, '/nowhere/canary', { method: 'GET', headers: { 'X-Request-Id': 'r-nowhere' } })
      await callAt(url, '/livez', { method: 'GET', headers: { 'X-Request-Id': 'r-livez' } })
      await callAt(url, '/api/logout', { token, headers: { 'X-Request-Id': 'r-logout' } })

      const servers = () => readSpans(file).filter(({ kind }) => kind === SERVER)
      await until(() => servers().length >= 6)
      const known = readSpans(file).length
      await sleep(IDLE_MS)
      const idle = readSpans(file)
        .slice(known)
        .map(({ name }) => name)
      t.diagnostic(`${idle.length} spans in ${IDLE_MS / 1000} idle seconds`)
      service.child.kill('SIGTERM')
      const { stdout, code } = await service.ended
      assert.equal(code, 0)

      assert.deepEqual(
        servers().map((span) => [span.name, attribute(span, 'http.route'), requestId(span)]),
        [
          ['POST /api/login', '/api/login', 'r-login'],
          ['POST /api/me', '/api/me', 'r-me'],
          ['POST /api/me', '/api/me', 'r-denied'],
          ['GET', undefined, 'r-nowhere'],
          ['GET /livez', '/livez', 'r-livez'],
          ['POST /api/logout', '/api/logout', 'r-logout'],
        ],
      )
      const [login] = servers()
      assert.ok(login)
      assert.deepEqual([login.traceId, login.parentSpanId], [TRACE, PARENT])
      const spans = readSpans(file)
      assert.doesNotMatch(JSON.stringify(spans), /canary|url\.path|url\.query/)

      // Every other span has a request above it: none is of a heartbeat or a job.
      const ids = new Set(spans.map(({ spanId }) => spanId))
      for (const span of spans.filter(({ kind }) => kind !== SERVER))
        assert.ok(ids.has(span.parentSpanId ?? ''), `${span.name} has no parent`)
      const lookups = spans.filter(
        (span) => attribute(span, 'db.system.name') ?? attribute(span, 'db.system'),
      )
      const traced = (name: string) => servers().find((span) => requestId(span) === name)?.traceId
      assert.ok(
        lookups.some(({ traceId }) => traceId === traced('r-login')),
        'the login has no lookup',
      )
      assert.ok(
        lookups.some(({ traceId }) => traceId === traced('r-me')),
        'the token has no lookup',
      )
      assert.equal(lookups.filter(({ traceId }) => traceId === traced('r-livez')).length, 0)
      assert.deepEqual(idle, [])

      const lines = stdout.split('\n').filter((line) => line.includes('"event":"request"'))
      assert.deepEqual(
        lines
          .map((line) => JSON.parse(line))
          .map(({ request_id, trace_id, span_id }) => [request_id, trace_id, span_id]),
        servers().map((span) => [requestId(span), span.traceId, span.spanId]),
      )
    })
  })
}

/** Starts a service with another Node than the one that runs these tests. */
async function startOn(node: string, cwd: string, env: Readonly<Record<string, string>>) {
  const service = startProcess(node, [...latchkeyProgram.args], {
    cwd,
    env: {
      PORT: '0',
      ...suite.database().env,
      BCRYPT_COST: '4',
      ...UNTHROTTLED,
      NODE_V8_COVERAGE: '',
      ...env,
    },
  })
  const [, url = ''] = await service.until(/running at (\S+)/)
  return { service, url }
}

async function startCollector(file: string, cwd: string): Promise<{ process: RunningProcess; url: string }> {
  const process = startProcess('node', [join(FIXTURES, 'collector.js')], { cwd, env: { SPANS_FILE: file } })
  const [, url = ''] = await process.until(/collector on (\S+)/)
  return { process, url }
}

function readSpans(file: string): readonly Span[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ scopeSpans }: { scopeSpans: readonly { spans: readonly Span[] }[] }) => scopeSpans)
    .flatMap(({ spans }) => spans)
}

function attribute({ attributes }: Span, name: string): unknown {
  const found = attributes.find(({ key }) => key === name)?.value
  return found === undefined ? undefined : Object.values(found)[0]
}

function requestId(span: Span): unknown {
  const value = attribute(span, 'http.response.header.x-request-id') as { values?: { stringValue: string }[] }
  return value?.values?.[0]?.stringValue
}
