import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { docker, hasImage, importProgram } from './container-engine.ts'
import { temporaryFolder } from './running-process.ts'

/** The image that `container-postgres` of the team makes: a Debian with PostgreSQL. */
export const DEBIAN_POSTGRES = process.env.TEST_POSTGRES_IMAGE ?? 'latchkey-test-postgres:15'

/** Whether `docker compose` works, else whether the older `docker-compose` does; null without either. */
export function composeVersion(): 'plugin' | 'standalone' | null {
  if (spawnSync('docker', ['compose', 'version']).status === 0) return 'plugin'
  return spawnSync('docker-compose', ['version']).status === 0 ? 'standalone' : null
}

/**
 * A shell function that makes the documented `docker compose` run the older `docker-compose`, which has no `--wait`: it starts
 * the services and waits until each one that has a health check is healthy.
 */
export const STANDALONE = `
docker() {
  if [ "$1" != compose ]; then command docker "$@"; return; fi
  shift
  wait=no
  for word in "$@"; do
    shift
    case $word in
      --wait) wait=yes ;;
      --detach) ;;
      up) set -- "$@" up --detach ;;
      *) set -- "$@" "$word" ;;
    esac
  done
  docker-compose "$@" || return
  [ $wait = yes ] || return 0
  for id in $(docker-compose --file deploy/compose.yaml ps --quiet); do
    until command docker inspect --format '{{if and .State.Running .State.Health}}{{.State.Health.Status}}{{else}}healthy{{end}}' "$id" | grep -qx healthy
    do sleep 0.5; done
  done
}
`

/** Like the official image of PostgreSQL, as far as compose.yaml uses it: the password in a file, and files of SQL. */
const ENTRYPOINT = `#!/bin/bash
set -e
bin=/usr/lib/postgresql/15/bin
data=/var/lib/postgresql/15/docker
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$data" /var/run/postgresql
  chown -R postgres /var/lib/postgresql /var/run/postgresql
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
if [ ! -s "$data/PG_VERSION" ]; then
  $bin/initdb -D "$data" -U postgres --pwfile="$POSTGRES_PASSWORD_FILE" --auth-host=scram-sha-256 --auth-local=trust -E UTF8 --locale=C.UTF-8
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  $bin/pg_ctl -D "$data" -o '-c listen_addresses=' -w start
  $bin/createdb -U postgres "$POSTGRES_DB"
  for file in /docker-entrypoint-initdb.d/*.sql; do
    $bin/psql -v ON_ERROR_STOP=1 --username postgres --no-psqlrc --dbname "$POSTGRES_DB" -f "$file"
  done
  $bin/pg_ctl -D "$data" -m fast -w stop
fi
exec $bin/postgres -D "$data" -c 'listen_addresses=*'
`

/** Creates an image that compose.yaml can use in place of the official one of PostgreSQL. */
export async function importPostgres(image: string): Promise<void> {
  if (!hasImage(DEBIAN_POSTGRES)) throw new Error(`there is no image ${DEBIAN_POSTGRES}`)
  const folder = await temporaryFolder()
  try {
    mkdirSync(join(folder.path, 'context'))
    writeFileSync(join(folder.path, 'context/entrypoint'), ENTRYPOINT, { mode: 0o755 })
    writeFileSync(
      join(folder.path, 'context/Dockerfile'),
      `FROM ${DEBIAN_POSTGRES}\nCOPY entrypoint /entrypoint\nENTRYPOINT ["/entrypoint"]\nCMD []\n`,
    )
    await docker('build', '--tag', image, join(folder.path, 'context'))
  } finally {
    folder.remove()
  }
}

/** Creates an image that compose.yaml can use in place of the official one of HAProxy. */
export function importHaProxy(image: string): Promise<void> {
  const path = spawnSync('sh', ['-c', 'command -v haproxy'], { encoding: 'utf8' }).stdout.trim()
  const command = `ENTRYPOINT ["${path}","-W","-db","-f","/usr/local/etc/haproxy/haproxy.cfg"]`
  return importProgram(image, path, [command])
}
