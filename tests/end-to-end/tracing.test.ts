import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { route } from '../../src/adapters/http/routing/route.ts'
import { callAt } from '../../src/testing/call.ts'
import { install } from '../support/packed.ts'
import { EMAIL, PASSWORD, programSuite } from '../support/program-suite.ts'
import { startApp } from '../support/running-app.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const headers = { traceparent: `00-${TRACE}-${PARENT}-01` }
const SDK = '@opentelemetry/sdk-trace-node@2.12.1'
const suite = programSuite()

describe('with an OpenTelemetry SDK', () => {
  test('each request has a span with route, status and parent', async (t) => {
    // Installed beside the service, as an operator does: the service does not depend on an SDK.
    writeFileSync(join(suite.folder(), 'package.json'), '{ "type": "module" }\n')
    const unreachable = await install(suite.folder(), [SDK])
    if (unreachable !== null) return t.skip(`TRACING WAS NOT TESTED: ${unreachable}`)
    const program = join(suite.folder(), 'tracing.js')
    copyFileSync(join(import.meta.dirname, 'fixtures/tracing.js'), program)
    const file = join(suite.folder(), 'spans.json')
    const { service, url } = await suite.start({
      NODE_OPTIONS: `--import ${pathToFileURL(program).href}`,
      SPANS_FILE: file,
      ACCESS_LOG: 'all',
    })
    const id = (n: number) => ({ 'X-Request-Id': `r-${n}` })
    await callAt(url, '/api/login', {
      body: { email: EMAIL, password: PASSWORD },
      headers: { ...headers, ...id(0) },
    })
    await callAt(url, '/api/me', { headers: id(1) })
    await callAt(url, '/nowhere/at-all', {
      method: 'PUT',
      headers: { traceparent: `00-${TRACE}-${PARENT}-0`, ...id(2) },
    })
    service.child.kill('SIGINT')
    const { stdout } = await service.ended
    const spans = JSON.parse(readFileSync(file, 'utf8'))
    assert.deepEqual(
      spans.map(({ name, kind, attributes, status, parentId }: Record<string, unknown>) => ({
        name,
        kind,
        attributes,
        status,
        parentId,
      })),
      [
        ['POST /api/login', '/api/login', 200, PARENT],
        ['POST /api/me', '/api/me', 401, undefined],
        ['PUT', undefined, 404, undefined],
      ].map(([name, path, code, parentId], n) => ({
        name,
        kind: SpanKind.SERVER,
        attributes: {
          'http.request.method': String(name).split(' ')[0],
          'url.scheme': 'http',
          'http.response.header.x-request-id': [`r-${n}`],
          ...(path === undefined ? {} : { 'http.route': path }),
          'http.response.status_code': code,
        },
        status: { code: SpanStatusCode.UNSET },
        parentId,
      })),
    )
    const traces = spans.map(({ traceId }: { traceId: string }) => traceId)
    assert.equal(traces[0], TRACE)
    assert.equal(new Set(traces).size, 3)
    const lines = stdout.split('\n').filter((line) => line.includes('"event":"request"'))
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).trace_id),
      traces,
    )
  })
})

describe('without an OpenTelemetry SDK', () => {
  test('a valid trace id is logged with the request and passed to its handler', async (t) => {
    const app = await startApp({
      env: { ACCESS_LOG: 'all' },
      routes: () => [
        route('GET /traced', {
          auth: 'none',
          handle({ traceId, log }) {
            log.info('traced')
            return { trace_id: traceId }
          },
        }),
      ],
    })
    t.after(() => app.close())
    const tracedBy = async (more: Record<string, string>) =>
      (await app.call('/api/traced', { method: 'GET', headers: more })).body.trace_id
    assert.equal(await tracedBy(headers), TRACE)
    assert.equal(await tracedBy({}), null)
    assert.equal(await tracedBy({ traceparent: headers.traceparent.toUpperCase() }), null)
    assert.deepEqual(
      app.logLines
        .map((line) => JSON.parse(line))
        .filter(({ event }) => event === 'traced' || event === 'request')
        .map(({ event, trace_id }) => `${event} ${trace_id}`),
      [TRACE, undefined, undefined].flatMap((id) => [`traced ${id}`, `request ${id}`]),
    )
  })
})
