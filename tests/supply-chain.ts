/**
 * Two steps of `npm run check`, on package-lock.json alone. `sbom` lists the packages of a production installation with npm's
 * bill of materials; it fails when a package has no checksum or no licence. `audit` fails when the registry knows of a
 * vulnerability that is high or critical. It prints that it is skipped when the registry serves no advisories.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

interface Sbom {
  readonly components: readonly {
    readonly name: string
    readonly version: string
    readonly hashes?: readonly unknown[]
    readonly licenses?: readonly {
      readonly license?: { readonly id?: string; readonly name?: string }
      readonly expression?: string
    }[]
  }[]
}

interface Audit {
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string }>>
}

const steps: Readonly<Record<string, () => void>> = { sbom: checkSbom, audit: checkAudit }
const step = steps[process.argv[2] ?? '']
if (step === undefined) throw new Error('Name a step: sbom or audit.')
step()

function checkSbom(): void {
  const { stdout, stderr, status } = npm('sbom', '--sbom-format=cyclonedx', '--omit=dev')
  if (status !== 0) throw new Error(`npm sbom failed: ${stderr.trim()}`)
  const { components } = JSON.parse(stdout) as Sbom
  const licences = new Map<string, number>()
  for (const { name, version, hashes = [], licenses = [] } of components) {
    const [first] = licenses
    const licence = first?.license?.id ?? first?.license?.name ?? first?.expression
    if (licence === undefined || hashes.length === 0)
      fail(`${name} ${version} has no licence or no checksum.`)
    else licences.set(licence, (licences.get(licence) ?? 0) + 1)
  }
  const counts = [...licences].map(([licence, count]) => `${count} ${licence}`).join(', ')
  print(`${components.length} packages, each with a checksum: ${counts}.`)
}

function checkAudit(): void {
  const { stdout, stderr } = npm('audit', '--json', '--fetch-retries=1', '--fetch-timeout=20000')
  const { vulnerabilities } = (stdout.startsWith('{') ? JSON.parse(stdout) : {}) as Audit
  if (vulnerabilities === undefined) {
    // Only this sentence of npm means that the registry is unreachable, or has no such endpoint.
    if (stderr.includes('audit endpoint returned an error'))
      print('SKIPPED: the registry serves no advisories. Run npm audit where it does.')
    else fail(`npm audit failed: ${stderr.trim()}`)
    return
  }
  const all = Object.entries(vulnerabilities)
  const grave = all.filter(([, { severity }]) => severity === 'high' || severity === 'critical')
  for (const [name, { severity }] of grave) fail(`${name} has a vulnerability: ${severity}.`)
  print(`${all.length} packages with a known vulnerability, ${grave.length} of them high or critical.`)
}

function npm(command: string, ...options: readonly string[]) {
  return spawnSync('npm', [command, '--package-lock-only', ...options], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function fail(line: string): void {
  process.exitCode = 1
  print(line)
}
