import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess, temporaryFolder } from './running-process.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Whether a container engine is available that runs this machine's binaries. */
export function hasContainerEngine(): boolean {
  return process.platform === 'linux' && spawnSync('docker', ['info']).status === 0
}

/** Runs the engine's client in the checkout. Returns its output; throws when it fails. */
export async function docker(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await startProcess('docker', args, { cwd: ROOT }).ended
  if (code !== 0) throw new Error(`docker ${args[0]}: ${stdout.slice(-2000)}${stderr.slice(-2000)}`)
  return stdout.trim()
}

/** Whether the engine has this image. */
export function hasImage(image: string | undefined): image is string {
  return image !== undefined && spawnSync('docker', ['image', 'inspect', image]).status === 0
}

/** Creates an image of a program of this machine and the libraries it needs. `changes` are instructions of a Dockerfile. */
export function importProgram(image: string, path: string, changes: readonly string[]): Promise<void> {
  return importFiles(image, [[path, path.slice(1)]], () => {}, changes)
}

/**
 * Creates an image of this machine's Node and the libraries it needs, with npm, the packages in its cache, and a shell for
 * package scripts: in place of the official image of Node.
 */
export function importNpm(image: string): Promise<void> {
  const npm = realpathSync(printed('sh', ['-c', 'command -v npm']))
  return importFiles(
    image,
    [
      [process.execPath, 'usr/bin/node'],
      ['/bin/sh', 'bin/sh'],
      ['/bin/rm', 'bin/rm'],
      ['/usr/bin/env', 'usr/bin/env'],
    ],
    (root) => {
      cpSync(join(npm, '../..'), join(root, 'usr/lib/npm'), { recursive: true })
      const cache = join(printed('npm', ['config', 'get', 'cache']), '_cacache')
      // Copies only these parts: other folders may hold unfinished writes of another npm.
      for (const part of ['content-v2', 'index-v5'])
        cpSync(join(cache, part), join(root, 'root/.npm/_cacache', part), { recursive: true })
      writeFileSync(join(root, 'root/.npmrc'), 'prefer-offline=true\nupdate-notifier=false\n')
      const npmCommand = '#!/bin/sh\nexec node /usr/lib/npm/bin/npm-cli.js "$@"\n'
      writeFileSync(join(root, 'usr/bin/npm'), npmCommand, { mode: 0o755 })
    },
  )
}

async function importFiles(
  image: string,
  programs: readonly (readonly [from: string, to: string])[],
  more = (_root: string) => {},
  changes: readonly string[] = [],
): Promise<void> {
  const { path: root, remove } = await temporaryFolder()
  try {
    mkdirSync(join(root, 'root'))
    mkdirSync(join(root, 'tmp'))
    // As in the images of distributions. The umask would remove bits from the mode of mkdir.
    chmodSync(join(root, 'tmp'), 0o1777)
    for (const [from, to] of programs) cpSync(from, join(root, to), { dereference: true })
    const paths = programs.map(([from]) => from)
    for (const library of librariesOf([...paths, ...nativeAddons()]))
      cpSync(realpathSync(library), join(root, library))
    more(root)
    const lines = ['ENV PATH=/usr/bin:/bin HOME=/root', ...changes].map((line) => `--change '${line}'`)
    const pack = `tar -C '${root}' --create . | docker import ${lines.join(' ')} - '${image}'`
    const { code, stderr } = await startProcess('sh', ['-c', pack], { cwd: ROOT }).ended
    if (code !== 0) throw new Error(`docker import: ${stderr}`)
  } finally {
    remove()
  }
}

/** The files that the bcrypt package loads, which needs more system libraries than Node. */
function nativeAddons(): readonly string[] {
  const folder = join(ROOT, 'node_modules/@node-rs')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return files.filter((file) => file.endsWith('.node')).map((file) => join(folder, file))
}

/** The shared libraries of programs, and the dynamic loader, by the paths at which the programs look for them. */
function librariesOf(programs: readonly string[]): ReadonlySet<string> {
  const text = printed('ldd', programs)
  return new Set([...text.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path = '']) => path))
}

function printed(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8' }).trim()
}
