import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parser } from '@prometheus-io/lezer-promql'
import type { Command } from 'commander'
import type { Operations } from '../src/adapters/cli/operations.ts'
import { createProgram } from '../src/adapters/cli/program.ts'
import { SETTINGS } from '../src/adapters/config/settings.ts'
import { ALERTS } from '../src/adapters/ops/alerts.ts'
import { SERVICE_CHECKS } from '../src/adapters/postgres/diagnostics/service-checks.ts'
import { serviceMetrics } from '../src/adapters/prometheus/service-metrics.ts'
import { AUDIT_EVENTS } from '../src/application/audit-events.ts'
import { ROWS } from '../verification/rows.ts'
import { alertRules } from './support/alert-rules.ts'
import { fencedBlocks } from './support/fenced-blocks.ts'
import { hasHaProxy } from './support/haproxy.ts'
import { type RunningApp, startApp } from './support/running-app.ts'
import { startProcess, temporaryFolder } from './support/running-process.ts'

const root = join(import.meta.dirname, '..')
const PAGES = [
  ...['concepts', 'operations', 'security'].flatMap((folder) =>
    readdirSync(join(root, 'docs', folder)).map((name) => `docs/${folder}/${name}`),
  ),
  'docs/compare.md',
]
const texts = new Map(PAGES.map((page) => [page, readFileSync(join(root, page), 'utf8')]))
const allText = [...texts.values()].join('\n')
const SOURCE = ['src', 'bin', 'sql']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
      join(root, folder, path),
    ),
  )
  .filter((path) => /\.(ts|js|sql)$/.test(path))
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n')

/** Returns the distinct first groups of the matches in all pages. Fails without any. */
function findNames(pattern: RegExp): readonly string[] {
  const names = [...new Set([...allText.matchAll(pattern)].map(([, name = '']) => name))]
  assert.ok(names.length > 0, `no match for ${pattern}`)
  return names
}

test('the named settings exist', () => {
  const known: readonly string[] = [
    ...SETTINGS.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name])),
    ...['TEST_DATABASE_URL', 'UV_THREADPOOL_SIZE', 'NODE_DEBUG', 'POSTGRES_PASSWORD', 'OWNER_PASSWORD'],
    // The argument of deploy/Dockerfile.
    'NODE_IMAGE',
    // Codes of system errors.
    ...['ENOSPC', 'EPIPE'],
  ]
  const named = findNames(/(?:`|^|export )([A-Z][A-Z_]+)(?=`|=)/gm)
  assert.deepEqual(
    named.filter((name) => !known.includes(name)),
    [],
  )
})

test('the commands and their options exist', () => {
  const program = createProgram({ version: '0.0.0' } as Operations, process)
  for (const command of findNames(
    /(?:npx |`)latchkey ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*(?![a-z@]))?(?: --[a-z-]+)?)(?=[ `\n])/g,
  )) {
    let at: Command | undefined = program
    for (const word of command.split(' ')) {
      const option: boolean | undefined = at?.options.some(({ long }) => long === word)
      const next: Command | undefined = at?.commands.find((candidate) => candidate.name() === word)
      at = word.startsWith('--') && option ? at : next
    }
    assert.ok(at, `there is no latchkey ${command}`)
  }
})

test('the named metrics exist', async () => {
  const known = (await serviceMetrics().collect()).map(({ name }) => name)
  const named = findNames(
    /`((?:http_server|latchkey|db_client|nodejs|process)_\w+_(?:seconds|total|requests|entries|held|running|waiting|connections|bytes)|db_client_connections)(?=[`{])/g,
  )
  assert.deepEqual(
    named.filter((name) => !known.includes(name)),
    [],
  )
})

test('the alerts are valid queries of existing metrics', async () => {
  const known = (await serviceMetrics().collect()).map(({ name }) => name)
  const foreign = ['up', 'pg_replication_lag_seconds', 'probe_ssl_earliest_cert_expiry']
  for (const { expr } of alertRules()) {
    parser.parse(expr).iterate({
      enter({ type, from, to }) {
        assert.ok(!type.isError, expr)
        if (type.name !== 'Identifier') return
        const metric = expr.slice(from, to).replace(/_(bucket|count)$/, '')
        assert.ok([...foreign, ...known].includes(metric) || metric.startsWith('latchkey:requests:'), metric)
      },
    })
  }
})

test('the page of the alerts has an entry for each, as the operator’s page shows it', () => {
  const path = join(root, 'docs/operations/alerts.md')
  const page = readFileSync(path, 'utf8')
  const head = page.slice(0, page.indexOf('\n## '))
  const tail = '\nDescribes Latchkey 0.2.\n'
  const entries = alertRules().map(({ alert, for: hold }) => {
    const { severity, title, effect, check, action } = ALERTS[alert as keyof typeof ALERTS]
    const lines = [
      `**${title}.** ${effect}`,
      `- Fires: ${hold === undefined ? 'at once' : `after ${hold}`}, as a ${severity}.\n- Look at: ${check}\n- Do: ${action}`,
    ]
    return `\n## ${alert}\n\n${lines.join('\n\n')}\n`
  })
  const expected = `${head}${entries.join('')}${tail}`
  if (process.env.UPDATE_DOCUMENTS === '1') writeFileSync(path, expected)
  else assert.equal(page, expected)
})

test('the named events of the log and the audit log, and the checks of doctor, exist', () => {
  for (const name of findNames(/`([a-z_]+\.[a-z_]+)`/g)) {
    if (/\.(ts|js|md|cfg|conf|env|json|sql)$/.test(name) || name in AUDIT_EVENTS) continue
    const [group, kind] = name.split('.')
    const isWhole = SOURCE.includes(`'${name}'`)
    const isComposed = SOURCE.includes(`\`${group}.\${`) && SOURCE.includes(`'${kind}'`)
    assert.ok(isWhole || isComposed, name)
  }
})

test('the table of readiness has every check', () => {
  const page = texts.get('docs/operations/monitoring.md') as string
  for (const { name } of SERVICE_CHECKS)
    assert.match(page, new RegExp(`^\\| \`${name}\` +\\| \`failed\``, 'm'))
})

test('the named files and folders exist', () => {
  // The documented commands create the secrets.
  for (const path of findNames(/`((?:src|sql|tests|deploy|bench)\/[\w./-]+)`/g))
    if (path !== 'deploy/secrets') assert.ok(existsSync(join(root, path)), path)
})

test('the lines of the page on troubleshooting are in the source', () => {
  const page = texts.get('docs/operations/troubleshooting.md') as string
  const lines = [...page.matchAll(/^\| `([^`]+)`/gm)].map(([, line = '']) => line)
  assert.ok(lines.length > 50)
  assert.deepEqual(
    lines.filter((line) => !SOURCE.includes(line)),
    [],
  )
})

test('the named rows of the proof exist', () => {
  for (const id of findNames(/(?:--row |[Rr]ow )([A-Z]\d+\w*)/g)) {
    assert.ok(
      ROWS.some((row) => row.id === id),
      id,
    )
  }
})

const skip = hasHaProxy() ? false : 'HAProxy is not installed'
test('HAProxy accepts the configuration for the primary without a warning', { skip }, async () => {
  const { path, remove } = await temporaryFolder()
  const file = join(path, 'haproxy.cfg')
  writeFileSync(file, fencedBlocks('docs/operations/postgresql.md', 'haproxy')[0] ?? '')
  const { status, stdout, stderr } = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' })
  remove()
  assert.equal(status, 0, stderr)
  assert.doesNotMatch(stdout + stderr, /WARNING|ALERT/)
})

describe('on a database', () => {
  let app: RunningApp
  before(async () => {
    app = await startApp()
  })
  after(() => app.close())

  test('the named settings of PostgreSQL exist', async () => {
    const rows = await app.database.sql<{ name: string }>('select name from pg_settings')
    const known = rows.map(({ name }) => name)
    const page = texts.get('docs/operations/postgresql.md') as string
    for (const table of [page.indexOf('| setting or property'), page.indexOf('| setting    ')]) {
      const named = [...page.slice(table, page.indexOf('\n\n', table)).matchAll(/^\| `([a-z_]+)` /gm)]
      assert.ok(named.length > 0)
      for (const [, name = ''] of named) assert.ok(known.includes(name), name)
    }
  })

  test('the command after a failover revokes only the tokens issued before it', async () => {
    const [one, other] = [await app.addCustomer(), await app.addCustomer()]
    const before = await app.login(one.email)
    const servesAgain = new Date(Date.now() + 1).toISOString()
    while (new Date().toISOString() <= servesAgain) await new Promise(setImmediate)
    const since = await app.login(other.email)
    const [command = ''] = fencedBlocks('docs/operations/postgresql.md', 'sh').filter((block) =>
      block.includes('--issued-before'),
    )
    const input = command
      .replace('npx latchkey', `"${process.execPath}" bin/latchkey.js`)
      .replace(/\d{4}-\S+Z/, servesAgain)
    const env = { DATABASE_URL: app.database.url }
    const { code, stdout } = await startProcess('sh', ['-eu'], { cwd: root, env, input }).ended
    assert.deepEqual([code, stdout], [0, 'Revoked 1 token of all customers, on every instance.\n'])
    assert.equal((await app.call('/api/me', { token: before })).status, 401)
    assert.equal((await app.call('/api/me', { token: since })).status, 200)
  })
})
