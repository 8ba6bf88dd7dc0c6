import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'
import { isInstalled } from './balancer.ts'
import { startProcess } from './running-process.ts'
import { until } from './until.ts'

/** A program that shows another one's state to Prometheus. */
export interface Exporter {
  /** Host and port. */
  readonly target: string
  stop(): Promise<void>
}

const POSTGRES = 'prometheus-postgres-exporter'
const BLACKBOX = 'prometheus-blackbox-exporter'

/** Why there is no postgres_exporter, or false when there is one. */
export const withoutPostgresExporter = !isInstalled(POSTGRES, '--version') && `${POSTGRES} is not installed`

/** Why there is no blackbox_exporter, or false when there is one. */
export const withoutBlackboxExporter = !isInstalled(BLACKBOX, '--version') && `${BLACKBOX} is not installed`

/** The query of postgres_exporter 0.14 for `pg_replication_lag_seconds`, for releases before 0.13, which have none. */
const REPLICATION = {
  pg_replication: {
    query: `select case when not pg_is_in_recovery() then 0
      when pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() then 0
      else greatest(0, extract(epoch from (now() - pg_last_xact_replay_timestamp()))) end as lag_seconds`,
    master: true,
    metrics: [{ lag_seconds: { usage: 'GAUGE', description: 'seconds behind the primary' } }],
  },
}

/** Starts postgres_exporter on a server. */
export function startPostgresExporter(folder: string, url: string): Promise<Exporter> {
  const args: string[] = []
  if (!spawnSync(POSTGRES, ['--help'], { encoding: 'utf8' }).stdout.includes('collector.replication')) {
    const file = join(folder, 'queries.yaml')
    // JSON is YAML.
    writeFileSync(file, JSON.stringify(REPLICATION))
    args.push('--disable-default-metrics', '--disable-settings-metrics', `--extend.query-path=${file}`)
  }
  return start(POSTGRES, args, folder, { DATA_SOURCE_NAME: `${url}?sslmode=disable` })
}

/** Starts blackbox_exporter with a module `https`, which accepts any certificate. */
export function startBlackboxExporter(folder: string): Promise<Exporter> {
  const file = join(folder, 'blackbox.yaml')
  const http = { tls_config: { insecure_skip_verify: true }, preferred_ip_protocol: 'ip4' }
  writeFileSync(file, JSON.stringify({ modules: { https: { prober: 'http', http } } }))
  return start(BLACKBOX, [`--config.file=${file}`], folder)
}

async function start(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<Exporter> {
  const target = `127.0.0.1:${await freePort()}`
  const running = startProcess(program, [...args, `--web.listen-address=${target}`], { cwd, env })
  await until(async () => (await fetch(`http://${target}/`).catch(() => null)) !== null)
  return {
    target,
    async stop() {
      running.child.kill('SIGTERM')
      await running.ended
    },
  }
}
