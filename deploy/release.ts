/**
 * Makes the artefacts of a release: the package, its bill of materials, the image if a container engine runs, and their
 * checksums. Two runs on one commit, with the same Node and npm, give the same bytes. Publishes nothing.
 *
 *     node --import tsx deploy/release.ts <folder> [--image]
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const ROOT = join(import.meta.dirname, '..')

const { values, positionals } = parseArgs({ allowPositionals: true, options: { image: { type: 'boolean' } } })
const [folder] = positionals
if (folder === undefined || positionals.length > 1) throw new Error('Name one folder for the artefacts.')
release(resolve(folder), values.image ?? false)

function release(folder: string, withImage: boolean): void {
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new Error(`${folder} is not empty.`)
  if (run('git', ['status', '--porcelain', '--untracked-files=no']) !== '')
    throw new Error('The checkout has changes that are not committed.')
  mkdirSync(folder, { recursive: true })
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const commit = run('git', ['rev-parse', 'HEAD'])
  const seconds = run('git', ['log', '-1', '--format=%ct'])
  const env = { SOURCE_DATE_EPOCH: seconds }
  // npm gives every file in the package the same time.
  run('npm', ['pack', '--silent', '--pack-destination', folder], env)
  writeFileSync(join(folder, `latchkey-${version}.cdx.json`), billOfMaterials(commit, Number(seconds)))
  if (withImage) {
    const options = ['--file', 'deploy/Dockerfile', '--tag', `latchkey:${version}`]
    run('docker', ['build', '--build-arg', `SOURCE_DATE_EPOCH=${seconds}`, ...options, '.'], env)
    run('docker', ['save', '--output', join(folder, `latchkey-${version}.image.tar`), `latchkey:${version}`])
  }
  writeFileSync(join(folder, 'SHA256SUMS'), checksums(folder))
  process.stdout.write(readFileSync(join(folder, 'SHA256SUMS')))
}

/** npm's list of the packages of a production installation, without its random number and the time of the run. */
function billOfMaterials(commit: string, seconds: number): string {
  const options = ['--package-lock-only', '--sbom-format=cyclonedx', '--omit=dev']
  const { serialNumber: _, ...bill } = JSON.parse(run('npm', ['sbom', ...options]))
  const digits = createHash('sha256').update(commit).digest('hex')
  const uuid = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `5${digits.slice(13, 16)}`,
    `8${digits.slice(17, 20)}`,
  ]
  bill.serialNumber = `urn:uuid:${[...uuid, digits.slice(20, 32)].join('-')}`
  bill.metadata.timestamp = new Date(seconds * 1000).toISOString()
  return `${JSON.stringify(bill, null, 2)}\n`
}

/** As sha256sum(1) prints and checks them. */
function checksums(folder: string): string {
  const lines = readdirSync(folder)
    .sort()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}  ${name}\n`,
    )
  return lines.join('')
}

function run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const options = { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    ...options,
    env: { ...process.env, ...env },
  })
  if (status !== 0) throw new Error(`${command} ${args[0]}: ${error?.message ?? ''}${stderr}`)
  return stdout.trim()
}
