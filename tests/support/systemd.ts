import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { docker, hasContainerEngine } from './container-engine.ts'
import { startProcess, temporaryFolder } from './running-process.ts'

const SYSTEMD = '/usr/lib/systemd/systemd'
const UNITS = '/usr/lib/systemd/system'

/** Why no systemd can be started here, or false if it can. */
export function systemdMissing(): string | false {
  if (!hasContainerEngine()) return 'no container engine runs on this machine'
  return existsSync(SYSTEMD) ? false : 'systemd is not installed on this machine'
}

/** A separate systemd, in a container on this machine's network. */
export interface Systemd {
  /** Runs a program beside it. Returns its output, whatever its exit code. */
  run(...command: readonly string[]): Promise<string>
  /** Properties of a unit by name. */
  show(unit: string, ...names: readonly string[]): Promise<Readonly<Record<string, string>>>
  close(): Promise<void>
}

/** Starts this machine's systemd as the first process of a container that sees `/usr` and these folders and files. */
export async function startSystemd(mounts: Readonly<Record<string, string>>): Promise<Systemd> {
  const name = `latchkey-systemd-${randomBytes(4).toString('hex')}`
  await importSkeleton(name)
  const binds = Object.entries({ '/usr': '/usr', ...mounts })
  await docker(
    ...['run', '--detach', '--name', name, '--network', 'host', '--env', 'container=docker'],
    // Capabilities that the sandbox of a unit needs.
    ...['SYS_ADMIN', 'SYS_PTRACE', 'NET_ADMIN'].flatMap((capability) => ['--cap-add', capability]),
    ...['seccomp', 'apparmor', 'systempaths'].flatMap((part) => ['--security-opt', `${part}=unconfined`]),
    ...['--cgroupns', 'host', '--volume', '/sys/fs/cgroup:/sys/fs/cgroup:rw'],
    ...['/run', '/tmp', '/var'].flatMap((folder) => ['--tmpfs', folder]),
    ...binds.flatMap(([to, from]) => ['--volume', `${from}:${to}:ro`]),
    // A separate process mounts credentials, which needs shared mounts.
    ...[name, '/bin/sh', '-c', `mount --make-rshared / && exec ${SYSTEMD}`],
  )
  const run = async (...command: readonly string[]) => {
    const { stdout, stderr } = await startProcess('docker', ['exec', name, ...command], { cwd: '/' }).ended
    return stdout + stderr
  }
  return {
    run,
    async show(unit, ...names) {
      const text = await run('systemctl', 'show', unit, '--property', names.join(','))
      return Object.fromEntries(
        text
          .trim()
          .split('\n')
          .map((line) => line.split(/=(.*)/s, 2)),
      )
    },
    async close() {
      await docker('rm', '--force', name)
      await docker('rmi', '--force', name)
    },
  }
}

/** Creates an image of what systemd needs beside `/usr`, without anything that changes this machine's kernel. */
async function importSkeleton(image: string): Promise<void> {
  const { path: root, remove } = await temporaryFolder()
  try {
    const units = join(root, 'etc/systemd/system')
    for (const folder of [
      units,
      ...['usr', 'proc', 'sys', 'dev', 'run', 'tmp', 'var'].map((to) => join(root, to)),
    ])
      mkdirSync(folder, { recursive: true })
    for (const link of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${link}`, join(root, link))
    cpSync('/etc/ld.so.cache', join(root, 'etc/ld.so.cache'))
    writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
    writeFileSync(join(root, 'etc/group'), 'root:x:0:\n')
    writeFileSync(
      join(root, 'etc/nsswitch.conf'),
      'passwd: files systemd\ngroup: files systemd\nhosts: files dns\n',
    )
    writeFileSync(join(root, 'etc/machine-id'), '')
    writeFileSync(join(units, 'default.target'), '[Unit]\nDescription=Nothing by default\n')
    for (const target of ['sysinit', 'local-fs', 'sockets']) {
      const folder = join(UNITS, `${target}.target.wants`)
      const wanted = existsSync(folder) ? readdirSync(folder) : []
      for (const unit of wanted)
        if (!existsSync(join(units, unit))) symlinkSync('/dev/null', join(units, basename(unit)))
    }
    const pack = `tar -C '${root}' --create . | docker import - '${image}'`
    const { code, stderr } = await startProcess('sh', ['-c', pack], { cwd: '/' }).ended
    if (code !== 0) throw new Error(`docker import: ${stderr}`)
  } finally {
    remove()
  }
}
