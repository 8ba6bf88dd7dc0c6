import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'
import { fencedBlocks } from '../support/fenced-blocks.ts'
import { install, npm } from '../support/packed.ts'
import { type RunningApp, SERVICE_SECRET, startApp } from '../support/running-app.ts'
import { startProcess, temporaryFolder } from '../support/running-process.ts'
import { until } from '../support/until.ts'

const root = join(import.meta.dirname, '../..')
const PACKAGES = ['fastify@5.12.8', 'express@5.3.0', 'hono@4.13.19', '@hono/node-server@2.1.9']
const PROGRAMS = fencedBlocks('docs/how-to/verify-in-a-framework.md', 'ts')

describe('The examples of a verifier in a framework', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let app: RunningApp
  let unreachable: string | null
  before(async () => {
    folder = await temporaryFolder()
    await npm(folder.path, ['init', '-y'])
    unreachable = await install(folder.path, PACKAGES)
    app = await startApp({ env: { SERVICE_TOKENS: `shop[verify]=${SERVICE_SECRET}` } })
  })
  after(async () => {
    await app.close()
    folder.remove()
  })

  for (const [n, name] of ['Fastify', 'Express', 'Hono'].entries())
    test(`accept and refuse tokens in ${name}, in at most 40 lines`, async (t) => {
      if (unreachable !== null) return t.skip(unreachable)
      const source = PROGRAMS[n] ?? assert.fail()
      assert.ok(source.split('\n').length <= 40)
      assert.match(source, new RegExp(`from '.*${name}'`, 'i'))
      const file = join(folder.path, `${name}.mts`)
      writeFileSync(file, source.replace('latchkey/verify', join(root, 'src/package/verify.ts')))
      const port = await freePort()
      const env = { LATCHKEY_URL: app.url, SERVICE_TOKEN: SERVICE_SECRET, PORT: `${port}` }
      const program = startProcess(process.execPath, ['--import', 'tsx', file], { cwd: root, env })
      t.after(async () => {
        program.child.kill('SIGKILL')
        await program.ended
      })
      const status = async (token: string | null) => {
        const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` }
        return (await fetch(`http://127.0.0.1:${port}/orders`, { headers })).status
      }
      await until(() =>
        status(null).then(
          () => true,
          () => program.child.exitCode !== null,
        ),
      )
      const customer = await app.addCustomer()
      const [login, reader, writer] = [
        await app.login(customer.email),
        await app.addToken(customer, ['orders:read']),
        await app.addToken(customer, ['orders:write']),
      ]
      const found = [null, 'x', login, login, reader, writer]
      assert.deepEqual(await Promise.all(found.map(status)), [401, 401, 200, 200, 200, 403], program.stderr())
      await app.call('/api/logout', { token: login })
      assert.equal(await status(login), 401)
      program.child.kill('SIGTERM')
      assert.equal((await program.ended).code, 0)
    })
})
