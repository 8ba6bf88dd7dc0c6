import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parser } from '@prometheus-io/lezer-promql'
import { type Definition, METRICS } from '../src/adapters/prometheus/definitions.ts'
import { serviceMetrics } from '../src/adapters/prometheus/service-metrics.ts'
import { markdownTable } from './support/document.ts'

const text = readFileSync(join(import.meta.dirname, '../docs/metrics.md'), 'utf8')
const code = (name: string) => `\`${name}\``

test('the table of metrics matches the code', () => {
  const rows = Object.entries<Definition>(METRICS).map(([name, { type, labels, meaning, aggregator }]) => [
    code(name),
    type,
    labels.map(code).join(', '),
    meaning,
    aggregator,
  ])
  const table = markdownTable(['metric', 'type', 'labels', 'meaning', 'workers'], rows)
  assert.ok(text.includes(`\n\n${table}\n\n`), table)
})

test('the table of process metrics matches the library', {
  skip: process.platform !== 'linux' && 'other systems report fewer process metrics',
}, async () => {
  const families = (await serviceMetrics().collect()).filter(({ name }) => !(name in METRICS))
  const rows = families.map(({ name, type, help }) => [code(name), type, help])
  const table = markdownTable(['metric', 'type', 'meaning'], rows)
  assert.ok(text.includes(`\n\n${table}\n`), table)
})

test('the dashboard queries only existing metrics and labels', async () => {
  const dashboard = readFileSync(join(import.meta.dirname, '../deploy/grafana-dashboard.json'), 'utf8')
  const { panels } = JSON.parse(dashboard) as { panels: { targets: { expr: string }[] }[] }
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  const labels = new Map([...(await serviceMetrics().collect())].map(({ name }) => [name, listLabels(name)]))
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
