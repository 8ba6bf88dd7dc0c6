import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parser } from '@prometheus-io/lezer-promql'
import { MANUAL } from '../src/adapters/cli/manual.ts'
import { parseDotEnv } from '../src/adapters/config/dot-env.ts'
import { readConfiguration } from '../src/adapters/config/read-configuration.ts'
import { SETTINGS } from '../src/adapters/config/settings.ts'
import { STATUS_BY_REASON } from '../src/adapters/http/failure-reasons.ts'
import { newServiceSecret } from '../src/adapters/node-crypto/service-secrets.ts'
import { auditFieldName } from '../src/adapters/pino/audit-log.ts'
import { SERVICE_CHECKS } from '../src/adapters/postgres/diagnostics/service-checks.ts'
import { type Definition, METRICS } from '../src/adapters/prometheus/definitions.ts'
import { serviceMetrics } from '../src/adapters/prometheus/service-metrics.ts'
import { AUDIT_EVENTS } from '../src/application/audit-events.ts'
import { readinessReport } from '../src/composition/readiness-report.ts'
import { readRoutes } from '../src/composition/route-table.ts'
import { memoryInvalidations } from '../src/package/adapters/memory.ts'
import { createTestApp } from '../src/testing/test-app.ts'
import { commandDocuments, documentShape } from './adapters/cli/documents.ts'
import { checkTable, readHeadings, readTable } from './support/document.ts'
import { fencedBlocks } from './support/fenced-blocks.ts'
import {
  acceptedValues,
  code,
  listCommands,
  listExports,
  listLogEvents,
  listLogFields,
  listProperties,
  optionRow,
  parseHttp,
  settingRow,
  shapeOf,
} from './support/reference.ts'
import { until } from './support/until.ts'

const root = join(import.meta.dirname, '..')
const page = (name: string) => `docs/reference/${name}.md`

/** Returns the code in the first cell of each row. */
function firstNames(file: string, heading: string): readonly string[] {
  return readTable(file, heading).map(([cell = '']) => /^`([^`]+)`/.exec(cell)?.[1] ?? cell)
}

describe('The page of the settings', () => {
  const file = page('settings')
  const groups = readHeadings(file).slice(1, readHeadings(file).indexOf('Details'))

  test('has every setting in one group', () => {
    const names = groups.flatMap((group) => firstNames(file, group))
    assert.deepEqual([...names].sort(), SETTINGS.map(({ name }) => name).sort())
  })

  for (const group of groups)
    test(`matches the code: ${group}`, () => {
      const names = firstNames(file, group)
      const rows = SETTINGS.filter(({ name }) => names.includes(name)).map(settingRow)
      checkTable(file, group, ['name', 'default', 'accepted values', 'meaning', 'a change applies at'], rows)
    })
})

describe('.env.example', () => {
  const path = join(root, '.env.example')

  test('has every setting with its meaning, accepted values and default, in the order of the settings', () => {
    const [head = '', ...blocks] = readFileSync(path, 'utf8').trimEnd().split('\n\n')
    const expected = SETTINGS.map(exampleBlock)
    if (process.env.UPDATE_DOCUMENTS === '1') writeFileSync(path, `${[head, ...expected].join('\n\n')}\n`)
    else assert.deepEqual(blocks, expected)
  })

  test('sets nothing unless a line is uncommented', () => {
    assert.deepEqual(parseDotEnv(readFileSync(path, 'utf8')), { variables: new Map(), problems: [] })
  })

  function exampleBlock(setting: (typeof SETTINGS)[number]): string {
    const { name, default: text, shownDefault, meaning, example, secret } = setting
    const remarks = [
      acceptedValues(setting),
      ...(text === null ? [`default: ${shownDefault}`] : []),
      ...(secret ? [`or ${name}_FILE=<path>`] : []),
    ]
    return `# ${meaning} (${remarks.join('; ')})\n# ${name}=${example}`
  }
})

describe('The page of the errors', () => {
  test('has every reason with its status', () => {
    const rows = readTable(page('errors'), 'Reasons').map(([reason = '', status]) => [reason, status])
    const expected = Object.entries(STATUS_BY_REASON).map(([reason, status]) => [code(reason), `${status}`])
    assert.deepEqual(rows, expected)
  })
})

describe('The page of the HTTP API', () => {
  const file = page('http-api')

  test('has every endpoint', () => {
    const env = { OPS: 'on' }
    const { configuration } = readConfiguration({ env, dotEnv: null })
    const endpoints = readRoutes({ configuration, version: '0.0.0' })
      .filter(({ isPageAsset }) => !isPageAsset)
      .map(({ method, path }) => `${method} ${path}`)
    const described = readHeadings(file).filter((heading) => /^[A-Z]+ \//.test(heading))
    assert.deepEqual([...described].sort(), endpoints.sort())
  })

  test('has every check of /readyz', async () => {
    const checks = Object.fromEntries(SERVICE_CHECKS.map(({ name }) => [name, true]))
    const checkStatus = { reachable: true, current: true, checks }
    const readiness = { ask: async () => ({ ready: true, checkStatus }), close() {} }
    const report = await readinessReport(readiness, { invalidations: memoryInvalidations() }, false)
    assert.deepEqual(firstNames(file, 'GET /readyz'), Object.keys(report.checks))
  })

  test('shows requests that get the responses shown', async (t) => {
    const app = await createTestApp({
      settings: {
        OPS: 'on',
        APP_VERSION: '1.4.0',
        SERVICE_TOKENS: `tests[status metrics ops]=${newServiceSecret()}`,
      },
    })
    t.after(() => app.close())
    const ana = { email: 'ana@example.com', name: 'Ana', password: 'correct horse battery staple' }
    await app.customer(ana)
    let token = ''
    const messages = fencedBlocks(file, 'http').map(parseHttp)
    assert.ok(messages.length > 10)
    for (const [at, { start, headers, body }] of messages.entries()) {
      if (start.startsWith('HTTP/')) continue
      const [method = '', path = ''] = start.split(' ')
      const sent = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [
          name,
          value.replace('<token>', token).replace('<service token>', app.asService().secret),
        ]),
      )
      const call = () => app.call(path, { method, headers: sent, ...(body === '' ? {} : { body }) })
      const expected = messages[at + 1]
      assert.ok(expected, `${start} has no response`)
      assert.match(expected.start, /^HTTP\/1\.1 /)
      const status = Number(expected.start.split(' ')[1])
      if (status === 429) for (let failures = 0; failures < 10; failures++) await call()
      if (path === '/ops/customer') {
        const { email, password } = ana
        const login = await app.call('/api/login', { body: { email, password } })
        await app.call('/api/me', { token: login.body.token })
        // A use of a token is stored in the background.
        await until(async () => (await call()).body.tokens[0].last_used_at !== null)
      }
      const response = await call()
      assert.equal(response.status, status, start)
      for (const [name, value] of Object.entries(expected.headers)) {
        const found = response.headers.get(name)
        assert.ok(found !== null, `${start} has no ${name}`)
        if (value !== '…') assert.equal(found, value, `${name} of ${start}`)
      }
      const shown = JSON.parse(expected.body)
      assert.deepEqual(shapeOf(response.body), shapeOf(shown), start)
      for (const name of ['success', 'code', 'error', 'reason'])
        assert.equal(response.body[name], shown[name], `${name} of ${start}`)
      token = response.body?.token?.length > 0 ? response.body.token : token
    }
  })
})

describe('The page of the commands', () => {
  const file = page('cli')
  const commands = listCommands()

  test('has every command', () => {
    const rows = commands.map(({ usage, description }) => [code(usage), description])
    checkTable(file, 'Commands', ['command', 'what it does'], rows)
    const described = readHeadings(file).filter((heading) => heading.startsWith('`latchkey '))
    assert.deepEqual([...described].sort(), commands.map(({ usage }) => code(usage)).sort())
  })

  for (const { usage, options } of commands.filter((command) => command.options.length > 0))
    test(`has the options of ${usage}`, () => {
      checkTable(file, code(usage), ['option', 'meaning'], options.map(optionRow))
    })

  test('has the document of every command with --json', async () => {
    const documents = await commandDocuments()
    const rows = documents.map(({ command, document }) => [code(command), code(documentShape(document))])
    checkTable(file, 'JSON', ['command', 'document'], rows)
    const withFlag = commands.filter(({ options }) => options.some(({ long }) => long === '--json'))
    const words = withFlag.map(({ usage }) => usage.replace(/^latchkey | [<[].*/g, ''))
    assert.deepEqual(
      [...new Set(documents.map(({ command }) => command))].sort(),
      [...words, 'migrate --check'].sort(),
    )
  })

  test('has the exit codes of every command', () => {
    const leaves = Object.entries(MANUAL).filter(([, { fails }]) => fails !== null)
    assert.deepEqual(
      leaves.map(([words]) => words).sort(),
      commands.map(({ usage }) => usage.replace(/^latchkey | [<[].*/g, '')).sort(),
    )
    const rows = leaves.map(([words, { fails }]) => [code(words), `${fails}`])
    checkTable(file, 'Exit codes by command', ['command', 'exit code 1'], rows)
  })
})

describe('The page of the package', () => {
  const file = page('package')
  const entries = listExports()

  test('has every entry', () => {
    const described = readHeadings(file).filter((heading) => heading.startsWith('`latchkey'))
    assert.deepEqual([...described].sort(), [...entries.keys()].map(code).sort())
  })

  for (const [entry, rows] of entries)
    test(`has every export of ${entry}, which has a docstring`, () => {
      for (const [name, , meaning] of rows) assert.notEqual(meaning, '', name)
      checkTable(file, code(entry), ['name', 'kind', 'meaning'], rows)
    })
})

describe('The tables of properties on the page of the package', () => {
  for (const [heading, source, name] of [
    ['Options of runProgram', 'src/program/program.ts', 'Composition'],
    ['Options of route', 'src/adapters/http/routing/route.ts', 'TypedDeclaration'],
    ['Context of a handler', 'src/adapters/http/request/request-context.ts', 'RequestContext'],
    ['createTestApp', 'src/testing/test-app.ts', 'TestApp'],
  ] as const)
    test(`match the code: ${heading}`, () => {
      const rows = listProperties(source, name)
      for (const [property, , meaning] of rows) assert.notEqual(meaning, '', property)
      const isRequired = heading.startsWith('Options')
      checkTable(
        page('package'),
        heading,
        isRequired ? ['name', 'required', 'meaning'] : ['name', 'meaning'],
        rows.map(([property = '', required = '', meaning = '']) =>
          isRequired ? [property, required, meaning] : [property, meaning],
        ),
      )
    })
})

describe('The page of the metrics', () => {
  const file = page('metrics')

  test('has every metric of the service', () => {
    const rows = Object.entries<Definition>(METRICS).map(([name, { type, labels, meaning, aggregator }]) => [
      code(name),
      type,
      labels.map(code).join(', '),
      meaning,
      aggregator,
    ])
    checkTable(file, 'Metrics of the service', ['metric', 'type', 'labels', 'meaning', 'workers'], rows)
  })

  test('has every metric of the process', {
    skip: process.platform !== 'linux' && 'other systems report fewer process metrics',
  }, async () => {
    const families = (await serviceMetrics().collect()).filter(({ name }) => !(name in METRICS))
    const rows = families.map(({ name, type, help }) => [code(name), type, help])
    checkTable(file, 'Metrics of the process', ['metric', 'type', 'meaning'], rows)
  })
})

describe('The Grafana dashboard', () => {
  test('queries only existing metrics and labels', async () => {
    const dashboard = readFileSync(join(root, 'deploy/grafana-dashboard.json'), 'utf8')
    const { panels } = JSON.parse(dashboard) as { panels: { targets: { expr: string }[] }[] }
    const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
    const labels = new Map(
      [...(await serviceMetrics().collect())].map(({ name }) => [name, listLabels(name)]),
    )
    assert.ok(queries.length > 0)
    for (const query of queries) {
      const { metrics, names, faults } = read(query.replaceAll('$__rate_interval', '5m'))
      assert.equal(faults, 0, query)
      assert.ok(metrics.length > 0, query)
      for (const metric of metrics) assert.ok(labels.has(findFamily(metric)), `${metric} in ${query}`)
      const known = metrics.flatMap((metric) => labels.get(findFamily(metric)) ?? [])
      for (const name of names)
        assert.ok(['job', 'instance', 'le', ...known].includes(name), `${name} in ${query}`)
    }
  })

  /** Parses a query with Prometheus' grammar and returns its metrics, label names and number of syntax errors. */
  function read(query: string): { metrics: string[]; names: string[]; faults: number } {
    const found = { metrics: [] as string[], names: [] as string[], faults: 0 }
    parser.parse(query).iterate({
      enter({ type, from, to }) {
        if (type.isError) found.faults++
        if (type.name === 'Identifier') found.metrics.push(query.slice(from, to))
        if (type.name === 'LabelName') found.names.push(query.slice(from, to))
      },
    })
    return found
  }

  function findFamily(metric: string): string {
    const whole = metric.replace(/_(bucket|sum|count)$/, '')
    return whole in METRICS && METRICS[whole as keyof typeof METRICS].type === 'histogram' ? whole : metric
  }

  function listLabels(name: string): readonly string[] {
    return name in METRICS ? METRICS[name as keyof typeof METRICS].labels : []
  }
})

describe('The page of the audit events', () => {
  const file = page('audit-events')
  const events = Object.entries(AUDIT_EVENTS)

  test('has every event', () => {
    const rows = events.map(([name, { meaning, recordedFields }]) => [
      code(name),
      meaning,
      recordedFields.map((field) => code(auditFieldName(field))).join(', '),
    ])
    checkTable(file, 'Events', ['event', 'meaning', 'fields'], rows)
  })

  test('has every reason', () => {
    const rows = events.flatMap(([name, { reasons }]) =>
      Object.entries(reasons).map(([reason, meaning]) => [code(name), code(reason), meaning]),
    )
    checkTable(file, 'Reasons', ['event', 'reason', 'meaning'], rows)
  })
})

describe('The page of the log events', () => {
  const levels = new Map(
    readHeadings(page('log-events'))
      .filter((heading) => heading.startsWith('Events of '))
      .flatMap((heading) => readTable(page('log-events'), heading))
      .map(([name = '', level = '']) => [name.replaceAll('`', ''), level]),
  )
  const logged = listLogEvents()

  test('has every event of the source with its level', () => {
    assert.ok(logged.length > 20)
    for (const { name, level } of logged) {
      assert.ok(levels.has(name), name)
      if (level !== null) assert.ok(levels.get(name)?.includes(level), `${name}: ${level}`)
    }
  })

  const rows = new Map(
    readHeadings(page('log-events'))
      .filter((heading) => heading.startsWith('Events of '))
      .flatMap((heading) => readTable(page('log-events'), heading))
      .map(([name = '', level = '', fields = '', , action = '']) => [
        name.replaceAll('`', ''),
        { level, fields: [...fields.matchAll(/`([a-z_]+)`/g)].map(([, field = '']) => field), action },
      ]),
  )

  test('has the fields of each event, which the table of fields explains', () => {
    const known = readTable(page('log-events'), 'Fields').flatMap(([cell = '']) =>
      [...cell.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name),
    )
    for (const [event, { fields }] of rows)
      for (const field of fields) assert.ok(known.includes(field), `${event}: ${field}`)
    const calls = listLogFields()
    assert.ok(calls.filter(({ fields }) => fields.length > 0).length > 10)
    for (const { event, fields } of calls)
      for (const field of fields)
        assert.ok(event.includes('$') || rows.get(event)?.fields.includes(field), `${event}: ${field}`)
  })

  test('says what to do about each event that needs a look or an action', () => {
    for (const [event, { level, action }] of rows) {
      assert.notEqual(action, '', event)
      if (level.includes('error')) assert.doesNotMatch(action, /^nothing/, event)
    }
  })

  test('has no other events', () => {
    const names = logged.map(({ name }) => name)
    assert.deepEqual(
      [...levels.keys()].filter((name) => !names.includes(name)),
      [],
    )
  })
})

describe('The table of modules in CONTRIBUTING.md', () => {
  const named = readTable('CONTRIBUTING.md', 'Architecture').flatMap(([cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
  )

  test('names only what exists', () => {
    for (const path of named) assert.ok(existsSync(join(root, path)), path)
  })

  test('names every folder of src, every adapter and every file beside the folders of application', () => {
    const entries = (folder: string) =>
      readdirSync(join(root, folder), { withFileTypes: true }).map(({ name }) => `${folder}/${name}`)
    const expected = [...entries('src'), ...entries('src/adapters'), ...entries('src/application')]
    const isNamed = (path: string) => named.some((name) => name === path || name.startsWith(`${path}/`))
    assert.deepEqual(
      expected.filter((path) => !isNamed(path)),
      [],
    )
  })
})
