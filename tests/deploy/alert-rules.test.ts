import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { stringify } from 'yaml'
import { ALERTS } from '../../src/adapters/ops/alerts.ts'
import { alertRules, RULES_FILE } from '../support/alert-rules.ts'
import { hasPromtool } from '../support/prometheus.ts'
import { temporaryFolder } from '../support/running-process.ts'

/** Values of a series at intervals of 15 s, or of 5 minutes in a case of hours, in promtool's notation. */
type Series = Readonly<Record<string, string>>

interface Case {
  readonly alert: keyof typeof ALERTS
  readonly fires: Series
  /** The same with values below the threshold, or for too short a time. */
  readonly rests: Series
  /** The labels of the alert beside `severity`. Default: `job` and `instance`. */
  readonly labels?: Readonly<Record<string, string>>
  /** When the alert is looked for. Default: after 20 minutes. */
  readonly at?: string
}

const ONE = { job: 'latchkey', instance: 'a' }
const JOB = { job: 'latchkey' }
const check = (name: string) => `latchkey_readiness_check{job="latchkey",instance="a",check="${name}"}`
const gauge = (name: string) => `${name}{job="latchkey",instance="a"}`
const logins = (result: string) => `latchkey_logins_total{job="latchkey",instance="a",result="${result}"}`
const requests = (status: string, route = '/api/me') =>
  `http_server_request_duration_seconds_count{job="latchkey",instance="a",http_route="${route}",http_response_status_code="${status}"}`
const within = (le: string, route = '/api/me') =>
  `http_server_request_duration_seconds_bucket{job="latchkey",instance="a",http_route="${route}",http_response_status_code="200",le="${le}"}`

/** A check of readiness that fails for a minute fires; one that fails for half of that does not. */
function ofCheck(alert: Case['alert'], name: string): Case {
  return {
    alert,
    fires: { [check(name)]: '1x20 0x60', [check('database')]: name === 'database' ? '1x20 0x60' : '1x80' },
    rests: { [check(name)]: '1x79 0', [check('database')]: name === 'database' ? '1x79 0' : '1x80' },
    labels: { ...ONE, check: name },
  }
}

const CASES: readonly Case[] = [
  { alert: 'LatchkeyDown', fires: { [gauge('up')]: '1x20 0x60' }, rests: { [gauge('up')]: '1x79 0' } },
  {
    alert: 'LatchkeyNotReady',
    fires: { [gauge('latchkey_ready')]: '1x20 0x60' },
    rests: { [gauge('latchkey_ready')]: '1x79 0' },
  },
  ofCheck('LatchkeyDatabaseUnreachable', 'database'),
  ofCheck('LatchkeyDatabaseReadOnly', 'writable'),
  ofCheck('LatchkeyMigrationPending', 'migrations'),
  {
    // While the database is unreachable, its migrations are unknown.
    alert: 'LatchkeyMigrationPending',
    fires: { [check('migrations')]: '0x80', [check('database')]: '1x80' },
    rests: { [check('migrations')]: '0x80', [check('database')]: '0x80' },
    labels: { ...ONE, check: 'migrations' },
  },
  ...['schema', 'grants', 'indexes', 'triggers'].map((name) => ofCheck('LatchkeySchemaBroken', name)),
  {
    alert: 'LatchkeyErrorBudgetBurnsFast',
    fires: { [requests('200')]: '0+98x80', [requests('500')]: '0+2x80' },
    rests: { [requests('200')]: '0+99x80', [requests('500')]: '0+1x80' },
    labels: JOB,
  },
  {
    // The probes of a load balancer are no requests of clients.
    alert: 'LatchkeyErrorBudgetBurnsFast',
    fires: { [requests('503')]: '0+2x80', [requests('503', '/readyz')]: '0+2x80' },
    rests: { [requests('200')]: '0+1x80', [requests('503', '/readyz')]: '0+9x80' },
    labels: JOB,
  },
  {
    alert: 'LatchkeyErrorBudgetBurnsSlowly',
    fires: { [requests('200')]: '0+99x80', [requests('503')]: '0+1x80' },
    rests: { [requests('200')]: '0+995x80', [requests('503')]: '0+5x80' },
    labels: JOB,
    at: '6h',
  },
  {
    alert: 'LatchkeyLatencyBudgetBurnsFast',
    fires: { [requests('200')]: '0+100x80', [within('0.25')]: '0+80x80' },
    rests: { [requests('200')]: '0+100x80', [within('0.25')]: '0+86x80' },
    labels: JOB,
  },
  {
    // Logins are slow on purpose.
    alert: 'LatchkeyLatencyBudgetBurnsFast',
    fires: { [requests('200')]: '0+10x80', [within('0.25')]: '0+1x80' },
    rests: {
      [requests('200')]: '0+10x80',
      [within('0.25')]: '0+10x80',
      [requests('200', '/api/login')]: '0+100x80',
      [within('0.25', '/api/login')]: '0x80',
    },
    labels: JOB,
  },
  {
    alert: 'LatchkeyLatencyBudgetBurnsSlowly',
    fires: { [requests('200')]: '0+100x80', [within('0.25')]: '0+93x80' },
    rests: { [requests('200')]: '0+100x80', [within('0.25')]: '0+95x80' },
    labels: JOB,
    at: '6h',
  },
  {
    alert: 'LatchkeyCacheSuspended',
    fires: { [gauge('latchkey_lease_held')]: '1x20 0x60' },
    rests: { [gauge('latchkey_lease_held')]: '1x78 0 1' },
  },
  {
    alert: 'LatchkeySlowRevocations',
    fires: {
      'latchkey_invalidation_lag_seconds_bucket{job="latchkey",instance="a",le="0.25"}': '0+10x80',
      'latchkey_invalidation_lag_seconds_bucket{job="latchkey",instance="a",le="0.5"}': '0+60x80',
      'latchkey_invalidation_lag_seconds_bucket{job="latchkey",instance="a",le="+Inf"}': '0+60x80',
    },
    rests: {
      'latchkey_invalidation_lag_seconds_bucket{job="latchkey",instance="a",le="0.25"}': '0+60x80',
      'latchkey_invalidation_lag_seconds_bucket{job="latchkey",instance="a",le="+Inf"}': '0+60x80',
    },
  },
  {
    alert: 'LatchkeyLoginsUnavailable',
    fires: { [logins('unavailable')]: '0+3x80' },
    rests: { [logins('unavailable')]: '0+1x80' },
    labels: JOB,
  },
  {
    alert: 'LatchkeyHashingQueue',
    fires: { [gauge('latchkey_hashing_waiting')]: '2x80' },
    rests: { [gauge('latchkey_hashing_waiting')]: '2x70 0 2x9' },
  },
  {
    alert: 'LatchkeyGuessing',
    fires: {
      [logins('failed')]: '0+50x80',
      [logins('throttled')]: '0+50x80',
      [logins('succeeded')]: '0+1x80',
    },
    rests: { [logins('failed')]: '0+50x80', [logins('throttled')]: '0x80', [logins('succeeded')]: '0+10x80' },
    labels: JOB,
  },
  {
    alert: 'LatchkeyPoolExhausted',
    fires: { [gauge('db_client_connection_pending_requests')]: '1x80' },
    rests: { [gauge('db_client_connection_pending_requests')]: '1x70 0 1x9' },
  },
  {
    alert: 'LatchkeyEventLoopDelayed',
    fires: { [gauge('nodejs_eventloop_delay_p99_seconds')]: '0.2x80' },
    rests: { [gauge('nodejs_eventloop_delay_p99_seconds')]: '0.1x80' },
  },
  {
    alert: 'LatchkeyAuditNotWritten',
    fires: { [gauge('latchkey_audit_failures_total')]: '0x70 1x10' },
    rests: { [gauge('latchkey_audit_failures_total')]: '7x80' },
  },
  {
    alert: 'LatchkeyDiskFilling',
    fires: {
      'latchkey_disk_free_bytes{job="latchkey",instance="a",folder="AUDIT_LOG"}': '9x80',
      'latchkey_disk_size_bytes{job="latchkey",instance="a",folder="AUDIT_LOG"}': '100x80',
    },
    rests: {
      'latchkey_disk_free_bytes{job="latchkey",instance="a",folder="AUDIT_LOG"}': '10x80',
      'latchkey_disk_size_bytes{job="latchkey",instance="a",folder="AUDIT_LOG"}': '100x80',
    },
    labels: { ...ONE, folder: 'AUDIT_LOG' },
  },
  {
    alert: 'LatchkeyConnectionsNearLimit',
    fires: { [gauge('latchkey_open_connections')]: '91x80', [gauge('latchkey_max_connections')]: '100x80' },
    rests: { [gauge('latchkey_open_connections')]: '90x80', [gauge('latchkey_max_connections')]: '100x80' },
  },
  {
    alert: 'LatchkeyWorkersRestart',
    fires: { [gauge('latchkey_worker_restarts_total')]: '0x60 1x5 2x5 4x10' },
    rests: { [gauge('latchkey_worker_restarts_total')]: '0x60 1x20' },
  },
  {
    alert: 'LatchkeyRestarts',
    fires: { [gauge('process_start_time_seconds')]: '1x60 2x5 3x5 4x10' },
    rests: { [gauge('process_start_time_seconds')]: '1x60 2x5 3x15' },
  },
  {
    alert: 'LatchkeyStandbyLags',
    fires: { 'pg_replication_lag_seconds{job="postgres",instance="s"}': '31x80' },
    rests: { 'pg_replication_lag_seconds{job="postgres",instance="s"}': '30x80' },
    labels: { job: 'postgres', instance: 's' },
  },
  {
    alert: 'LatchkeyCertificateExpires',
    fires: { 'probe_ssl_earliest_cert_expiry{job="latchkey-https",instance="a"}': '1000000x80' },
    rests: { 'probe_ssl_earliest_cert_expiry{job="latchkey-https",instance="a"}': '1300000x80' },
    labels: { ...ONE, job: 'latchkey-https' },
    at: '2h',
  },
]

const rules = alertRules()

describe('The alert rules for Prometheus', { skip: !hasPromtool() && 'promtool is not installed' }, () => {
  test('have a case for each alert', () => {
    const names = Object.keys(ALERTS).sort()
    assert.deepEqual(rules.map(({ alert }) => alert).sort(), names)
    assert.deepEqual([...new Set(CASES.map(({ alert }) => alert))].sort(), names)
  })

  test('say what the table of alerts says', () => {
    for (const { alert, labels, annotations } of rules) {
      const { severity, title, effect } = ALERTS[alert as keyof typeof ALERTS]
      assert.deepEqual(labels, { severity })
      const runbook = `docs/operations/alerts.md#${alert.toLowerCase()}`
      assert.deepEqual(annotations, { summary: title, description: effect, runbook })
    }
  })

  test('fire above their thresholds and rest below', async (t) => {
    const folder = await temporaryFolder()
    t.after(() => folder.remove())
    const isLong = ({ at = '20m' }: Case) => at.endsWith('h')
    for (const [interval, cases] of [
      ['15s', CASES.filter((each) => !isLong(each))],
      ['5m', CASES.filter(isLong)],
    ] as const) {
      const file = join(folder.path, `${interval}.yaml`)
      writeFileSync(file, stringify(document(cases, interval)))
      const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
      assert.equal(status, 0, `${stdout}${stderr}`)
    }
  })

  test('are found wrong by the same cases when a threshold moves', async (t) => {
    const folder = await temporaryFolder()
    t.after(() => folder.remove())
    const file = join(folder.path, 'cases.yaml')
    const [down] = CASES
    assert.ok(down)
    // As if the alert fired below its threshold.
    writeFileSync(file, stringify(document([{ ...down, rests: down.fires }], '15s')))
    assert.equal(spawnSync('promtool', ['test', 'rules', file]).status, 1)
  })
})

function document(cases: readonly Case[], interval: string): object {
  return {
    rule_files: [RULES_FILE],
    evaluation_interval: interval,
    tests: cases.flatMap(({ alert, fires, rests, labels = ONE, at = '20m' }) => {
      const rule = rules.find((each) => each.alert === alert)
      assert.ok(rule, alert)
      const expected = {
        exp_labels: { ...labels, severity: rule.labels.severity },
        exp_annotations: rule.annotations,
      }
      return [
        one(interval, fires, { eval_time: at, alertname: alert, exp_alerts: [expected] }),
        one(interval, rests, { eval_time: at, alertname: alert, exp_alerts: [] }),
      ]
    }),
  }
}

function one(interval: string, series: Series, expected: object): object {
  return {
    interval,
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [expected],
  }
}
