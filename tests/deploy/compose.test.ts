import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cpSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'
import { callAt } from '../../src/testing/call.ts'
import {
  composeVersion,
  DEBIAN_POSTGRES,
  importHaProxy,
  importPostgres,
  STANDALONE,
} from '../support/compose.ts'
import { docker, hasContainerEngine, hasImage, importNpm } from '../support/container-engine.ts'
import { fencedBlocks } from '../support/fenced-blocks.ts'
import { hasHaProxy } from '../support/haproxy.ts'
import { startProcess, temporaryFolder } from '../support/running-process.ts'
import { until } from '../support/until.ts'

const ROOT = join(import.meta.dirname, '../..')
const INSTANCES = ['latchkey1', 'latchkey2', 'latchkey3', 'latchkey4']

const version = hasContainerEngine() ? composeVersion() : null
const skip = !hasContainerEngine()
  ? 'no container engine is running on this machine'
  : version === null
    ? 'neither docker compose nor docker-compose is installed'
    : !hasHaProxy()
      ? 'HAProxy is not installed'
      : !hasImage(DEBIAN_POSTGRES) && `there is no image ${DEBIAN_POSTGRES}`

/** The documented commands: secrets, start, first customer, restarts, rotation. */
const [SECRETS = '', START = '', CUSTOMER = '', RESTART = '', ROTATE = ''] = fencedBlocks(
  'docs/operations/deployment.md',
  'sh',
).filter((block) => /compose|secret\(\)/.test(block))

describe('The documented commands of compose', { skip }, () => {
  const project = `latchkey-test-${randomBytes(4).toString('hex')}`
  const images = Object.fromEntries(
    ['node', 'postgres', 'haproxy', 'latchkey'].map((name) => [name, `${project}-${name}`]),
  )
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let url = ''

  before(async () => {
    folder = await temporaryFolder()
    for (const name of [
      'package.json',
      'package-lock.json',
      'tsconfig.json',
      'tsconfig.build.json',
      '.dockerignore',
    ])
      cpSync(join(ROOT, name), join(folder.path, name))
    for (const name of ['src', 'sql', 'deploy'])
      cpSync(join(ROOT, name), join(folder.path, name), {
        recursive: true,
        filter: (path) => !path.endsWith('/deploy/secrets'),
      })
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    replace('deploy/compose.yaml', /image: latchkey$/gm, `image: ${images.latchkey}`)
    replace('deploy/compose.yaml', /postgres:18$/m, `${images.postgres}`)
    replace('deploy/compose.yaml', /haproxy:3\.0$/m, `${images.haproxy}`)
    replace('deploy/compose.yaml', /127\.0\.0\.1:8080:8080/, `127.0.0.1:${port}:8080`)
    if (version === 'standalone') replace('deploy/compose.yaml', /^name: latchkey\n/m, '')
    replace('deploy/Dockerfile', /NODE_IMAGE=\S+/, `NODE_IMAGE=${images.node}`)
    await Promise.all([
      importNpm(`${images.node}`),
      importPostgres(`${images.postgres}`),
      importHaProxy(`${images.haproxy}`),
    ])
    // With the network of this machine, which the installation may need. Compose finds each step in the engine's cache.
    await run(`docker build --network host --file deploy/Dockerfile --tag ${images.latchkey} .`)
  })
  after(async () => {
    await run('docker compose --file deploy/compose.yaml down --volumes --timeout 5').catch(() => {})
    for (const image of Object.values(images)) await docker('rmi', '--force', `${image}`).catch(() => {})
    folder.remove()
  })

  test('create secrets that only this account can reach, and a different one each time', async () => {
    await run(SECRETS)
    assert.equal(statSync(join(folder.path, 'deploy/secrets')).mode & 0o777, 0o700)
    const texts = ['postgres-password', 'owner-url', 'service-url', 'service-tokens'].map(secret)
    assert.equal(new Set(texts.flatMap((text) => text.match(/[0-9a-f]{48}/g) ?? [])).size, 4)
    assert.match(texts[2] ?? '', /^postgres:\/\/latchkey:[0-9a-f]{48}@database:5432\/latchkey\n$/)
  })

  test('build and start the service, and add a first customer, who logs in', async (t) => {
    const beganMs = performance.now()
    await run(START)
    t.diagnostic(`started in ${Math.round((performance.now() - beganMs) / 1000)} s with ${version}`)
    assert.match(await run(CUSTOMER), /Added ana@example\.com\./)
    assert.equal((await login()).status, 200)
    assert.equal((await status()).status, 200)
    for (const name of INSTANCES) {
      const env = await docker('inspect', '--format', '{{.Config.Env}}', await container(name))
      assert.doesNotMatch(env, /[0-9a-f]{48}/)
    }
  })

  test('restart the instances without a failed request', async (t) => {
    const before = await Promise.all(INSTANCES.map(container))
    const { body } = await login()
    let [isOver, calls] = [false, 0]
    const failures: unknown[] = []
    const calling = (async () => {
      while (!isOver) {
        const { status, body: got } = await callAt(url, '/api/me', { token: body.token }).catch((error) => ({
          status: 0,
          body: String(error),
        }))
        calls++
        if (status !== 200) failures.push([status, got])
        await sleep(5)
      }
    })()
    try {
      await run(RESTART)
    } finally {
      isOver = true
      await calling
    }
    t.diagnostic(`${calls} requests during the restarts`)
    assert.deepEqual(failures, [])
    assert.ok(calls > 100)
    const now = await Promise.all(INSTANCES.map(container))
    assert.deepEqual(
      now.filter((id) => before.includes(id)),
      [],
    )
  })

  test('bring an instance back that started while the database was away', async () => {
    await run('docker compose --file deploy/compose.yaml stop database')
    const id = await container('latchkey1')
    await docker('restart', '--time', '0', id)
    await until(async () => Number(await docker('inspect', '--format', '{{.RestartCount}}', id)) >= 2)
    await run('docker compose --file deploy/compose.yaml start database')
    await until(async () => (await login()).status === 200)
    await until(
      async () => (await docker('inspect', '--format', '{{.State.Health.Status}}', id)) === 'healthy',
    )
  })

  test('rotate the password of the database and the service token without a restart', async () => {
    const before = await Promise.all(INSTANCES.map(container))
    const [oldUrl, oldToken] = [secret('service-url'), secret('service-tokens')]
    await run(ROTATE)
    assert.notEqual(secret('service-url'), oldUrl)
    await until(async () => (await status()).status === 200)
    // The balancer asks the instances in turn.
    await until(async () => {
      const refused = await Promise.all(INSTANCES.map(() => status(oldToken)))
      return refused.every((response) => response.status === 401)
    })
    // Every connection is a new one then.
    await run(
      'docker compose --file deploy/compose.yaml exec -T database psql --username postgres --dbname latchkey --command "select pg_terminate_backend(pid) from pg_stat_activity where usename = \'latchkey\'"',
    )
    await until(async () => (await login()).status === 200)
    for (let n = 0; n < 8; n++) assert.equal((await login()).status, 200)
    assert.deepEqual(await Promise.all(INSTANCES.map(container)), before)
    for (const id of before)
      assert.equal(await docker('inspect', '--format', '{{.State.Running}}', id), 'true')
  })

  const secret = (name: string) => readFileSync(join(folder.path, 'deploy/secrets', name), 'utf8')
  const login = () =>
    callAt(url, '/api/login', { body: { email: 'ana@example.com', password: 'a long password' } })
  const status = (tokens = secret('service-tokens')) =>
    callAt(url, '/api/status', { method: 'GET', token: tokens.trim().replace('monitor=', '') })
  const container = async (name: string) =>
    (await run(`docker compose --file deploy/compose.yaml ps --quiet ${name}`)).trim()

  /** Runs a block as it is pasted, in the copy of the checkout. */
  async function run(block: string): Promise<string> {
    const prelude = version === 'standalone' ? STANDALONE : ''
    const { code, stdout, stderr } = await startProcess('sh', ['-c', `set -e\n${prelude}${block}`], {
      cwd: folder.path,
      env: { COMPOSE_PROJECT_NAME: project, DOCKER_BUILDKIT: '0' },
    }).ended
    if (code !== 0) throw new Error(`${block}\n${stdout.slice(-2000)}${stderr.slice(-3000)}`)
    return stdout
  }

  function replace(name: string, pattern: RegExp, text: string): void {
    const path = join(folder.path, name)
    const before = readFileSync(path, 'utf8')
    assert.match(before, pattern)
    writeFileSync(path, before.replace(pattern, text))
  }
})
