import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'
import { isInstalled } from './balancer.ts'
import { startProcess } from './running-process.ts'
import { until } from './until.ts'

/** What Prometheus reads under a job. */
export interface ScrapeJob {
  readonly job: string
  /** Host and port. */
  readonly target: string
  /** The path and its parameters. Default: `/metrics` without any. */
  readonly path?: string
  readonly params?: Readonly<Record<string, readonly string[]>>
}

/** A sample of a query. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A real Prometheus that reads its targets and evaluates its rules every second. */
export interface PrometheusServer {
  /** Returns the current samples of a query. */
  query(expr: string): Promise<readonly Sample[]>
  /** Returns the names of the alerts that fire or have fired within an hour. */
  fired(): Promise<readonly string[]>
  /** Returns the rules whose last evaluation failed. */
  failedRules(): Promise<readonly string[]>
  stop(): Promise<void>
}

/** Why there is no Prometheus, or false when there is one. */
export const withoutPrometheus =
  !isInstalled('prometheus', '--version') && 'PROMETHEUS WAS NOT TESTED: it is not installed'

/** Starts Prometheus with its files in the folder. `rules` is the path of a rules file. */
export async function startPrometheus(
  folder: string,
  rules: string,
  jobs: readonly ScrapeJob[],
): Promise<PrometheusServer> {
  const address = `127.0.0.1:${await freePort()}`
  const configuration = join(folder, 'prometheus.yaml')
  // JSON is YAML.
  writeFileSync(
    configuration,
    JSON.stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [rules],
      scrape_configs: jobs.map(({ job, target, path = '/metrics', params = {} }) => ({
        job_name: job,
        metrics_path: path,
        params,
        static_configs: [{ targets: [target] }],
      })),
    }),
  )
  const args = [
    `--config.file=${configuration}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${address}`,
  ]
  const running = startProcess('prometheus', args, { cwd: folder })
  const get = async (path: string) => {
    const response = await fetch(`http://${address}/api/v1/${path}`)
    const { data } = (await response.json()) as { readonly data?: PrometheusData }
    if (data === undefined) throw new Error(`Prometheus refuses ${path}`)
    return data
  }
  const query = async (expr: string) =>
    ((await get(`query?query=${encodeURIComponent(expr)}`)).result ?? []).map(({ metric, value }) => ({
      labels: metric,
      value: Number(value[1]),
    }))
  await until(async () => (await fetch(`http://${address}/-/ready`).catch(() => null))?.status === 200)
  return {
    query,
    async fired() {
      const samples = await query('count by (alertname) (present_over_time(ALERTS{alertstate="firing"}[1h]))')
      return samples.map(({ labels }) => labels.alertname ?? '').sort()
    },
    async failedRules() {
      const { groups = [] } = await get('rules')
      return groups.flatMap(({ rules }) =>
        rules.filter(({ health }) => health !== 'ok').map(({ name, lastError }) => `${name}: ${lastError}`),
      )
    },
    async stop() {
      running.child.kill('SIGTERM')
      await running.ended
    },
  }
}

/** The data of a response of Prometheus’ API. */
interface PrometheusData {
  readonly result?: readonly {
    readonly metric: Readonly<Record<string, string>>
    readonly value: readonly [number, string]
  }[]
  readonly groups?: readonly {
    readonly rules: readonly {
      readonly name: string
      readonly health: string
      readonly lastError?: string
    }[]
  }[]
}
