import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageName } from '../../src/adapters/embedded-postgres/binaries.ts'
import { createLinks } from '../../src/adapters/embedded-postgres/binary-files.ts'
import { connectionUrl } from '../../src/adapters/embedded-postgres/connection-url.ts'
import { prepareDataFolder } from '../../src/adapters/embedded-postgres/data-folder.ts'
import { thisHost } from '../../src/adapters/embedded-postgres/host.ts'
import { PACKAGE_VERSIONS, prepareOldBinaries } from '../../src/adapters/embedded-postgres/old-binaries.ts'
import { stopPostmaster } from '../../src/adapters/embedded-postgres/postmaster.ts'
import { socketFolder } from '../../src/adapters/embedded-postgres/server-address.ts'
import { accountIdentity, SERVER_ENV } from '../../src/adapters/embedded-postgres/server-arguments.ts'
import { openSession } from '../../src/adapters/embedded-postgres/session.ts'
import { ensureServer } from '../../src/adapters/embedded-postgres/start-server.ts'

/** Installs the PostgreSQL of a major version as the message of the service says. Returns the reason if that fails. */
export function installMajor(folder: string, major: string): string | null {
  const prefix = join(folder, `postgres-${major}`)
  const name = `${packageName(thisHost())}@${PACKAGE_VERSIONS[major]}`
  const options = ['install', '--prefix', prefix, '--no-audit', '--no-fund', '--prefer-offline', name]
  const { status, stderr } = spawnSync('npm', options, { encoding: 'utf8', cwd: folder, timeout: 300_000 })
  return status === 0 ? null : `npm cannot install ${name}: ${stderr.split('\n')[0]}`
}

/** Creates the data folder of a Latchkey whose PostgreSQL was of the major version that is installed in `prefix`. */
export function createOldFolder(home: string, prefix: string): string {
  const host = thisHost()
  const folder = prepareDataFolder(host, join(home, 'data'), home, () => {})
  const native = join(prefix, 'node_modules', packageName(host), 'native')
  createLinks(native)
  const passwordFile = join(folder.path, 'initdb-password')
  writeFileSync(passwordFile, folder.password, { mode: 0o644 })
  mkdirSync(folder.cluster, { mode: 0o700 })
  if (folder.account !== undefined)
    execFileSync('chown', [`${folder.account.uid}:${folder.account.gid}`, folder.cluster, passwordFile])
  const options = [
    '-D',
    folder.cluster,
    '--username=latchkey',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
  ]
  execFileSync(join(native, 'bin', 'initdb'), [...options, '--encoding=UTF8', '--locale=C'], {
    env: SERVER_ENV,
    stdio: 'pipe',
    ...accountIdentity(folder),
  })
  execFileSync('rm', [passwordFile])
  return folder.path
}

/** Returns the major version of the cluster in a data folder. */
export function majorOf(dataDir: string, cluster = 'postgres'): string | null {
  const file = join(dataDir, cluster, 'PG_VERSION')
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : null
}

/** Runs `work` on the server of an old data folder, and stops it. */
export async function onOldServer<T>(
  home: string,
  prefix: string,
  major: string,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const host = thisHost()
  const data = prepareDataFolder(host, join(home, 'data'), home, () => {})
  const binaries = prepareOldBinaries(host, data, { prefix, copyRoot: join(home, 'copies'), major })
  const { port } = await ensureServer(
    { host, folder: data, binaries, startedBy: 'command' },
    null,
    new AbortController().signal,
  )
  const address = {
    host: port === undefined ? (socketFolder(host, data.cluster) as string) : '127.0.0.1',
    port: port ?? 5432,
    password: data.password,
  }
  await (await openSession(address)).end()
  try {
    return await work(connectionUrl(address))
  } finally {
    await stopPostmaster(data.cluster)
  }
}
