import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readConfiguration } from '../../src/adapters/config/read-configuration.ts'
import { memoryDatabase } from '../../src/adapters/memory/database.ts'
import { memoryLoginThrottle } from '../../src/adapters/memory/login-throttle.ts'
import { randomIds } from '../../src/adapters/node-crypto/ids.ts'
import { serviceSecrets } from '../../src/adapters/node-crypto/service-secrets.ts'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import type { CachedToken } from '../../src/application/login-tokens/cached-token.ts'
import type { Database, OpenDatabase } from '../../src/application/ports/database.ts'
import type { Ports } from '../../src/application/ports/ports.ts'
import type { AdapterOverrides } from '../../src/composition/adapters.ts'
import { type Service, startService } from '../../src/composition/service.ts'
import { withStore } from '../../src/program/commands.ts'
import { callAt } from '../../src/testing/call.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { recordingAuditLog, recordingLog } from '../../src/testing/recorded.ts'
import { fakePasswords, mapCache } from '../support/fakes.ts'

const EMAIL = 'ana@example.com'
const PASSWORD = 'correct horse 9'
const SERVICE_SECRET = 'a-secret-that-no-setting-contains-0123456789'

const { configuration } = readConfiguration({
  env: { PORT: '0', LOG_LEVEL: 'silent', AUDIT_LOG: '/nowhere/audit.log' },
  dotEnv: null,
})
const clock = movableClock(Date.now())
const log = recordingLog()

/** A custom adapter of every port, each an instance of a class, and the names of those that were called. */
async function createAdapters() {
  const called = new Set<keyof AdapterOverrides>()
  const { customers, loginTokens, oneTimeTokens, invalidations } = await memoryDatabase().open('service', {
    configuration,
    log,
    clock,
  })
  assert.ok(invalidations)
  const ports = {
    customers,
    loginTokens,
    oneTimeTokens,
    invalidations,
    throttle: memoryLoginThrottle(configuration, clock),
    passwords: fakePasswords(),
    blocklist: { has: () => false },
    secrets: tokenSecrets({ prefix: 'custom' }),
    serviceSecrets: serviceSecrets([{ name: 'custom', scopes: ['status'], secret: SERVICE_SECRET }]),
    clock,
    ids: randomIds,
    usage: { used() {} },
    audit: recordingAuditLog(),
  } satisfies Ports
  const cache = mapCache<CachedToken>(clock)
  const adapters = { ...ports, cache } satisfies Required<AdapterOverrides>
  const watched = Object.entries(adapters).map(([name, adapter]) => [
    name,
    createInstance(adapter, () => called.add(name as keyof AdapterOverrides)),
  ])
  return {
    called,
    adapters: Object.fromEntries(watched) as typeof adapters,
    cache,
    names: Object.keys(adapters),
  }
}

/** Returns an instance of a class whose methods call those of the port, and throw when they are called without it. */
function createInstance<Port extends object>(port: Port, report: () => void): Port {
  class Adapter {
    readonly #port = port as Record<string, unknown>
    static {
      for (const name of Object.keys(port)) {
        Object.defineProperty(Adapter.prototype, name, {
          value(this: Adapter, ...args: unknown[]) {
            const method = this.#port[name] as (...args: unknown[]) => unknown
            report()
            return method(...args)
          },
        })
      }
    }
  }
  return new Adapter() as Port
}

/** A database whose every store fails when it is called. */
const uselessDatabase: Database = {
  ...memoryDatabase(),
  open: async () => {
    const failing = new Proxy({} as never, {
      get: () => () => assert.fail('The store of the database was called.'),
    }) as OpenDatabase['customers'] & OpenDatabase['loginTokens'] & OpenDatabase['oneTimeTokens']
    return {
      customers: failing,
      loginTokens: failing,
      oneTimeTokens: failing,
      invalidations: failing as never,
      throttle: failing as never,
      ready: async () => true,
      close: async () => {},
    }
  },
}

describe('Custom adapters', () => {
  it('replace every port and the cache of a service', async (t) => {
    const { called, adapters, cache, names } = await createAdapters()
    const service: Service = await startService({
      configuration,
      log,
      version: '1.0.0',
      database: uselessDatabase,
      adapters,
      accessLines: { write() {}, close() {} },
    })
    t.after(() => service.stop({ delay: false }))
    const { customers, oneTimeTokens, deadline } = service.useCases
    await customers.add({ email: EMAIL, name: null, password: { password: PASSWORD } }, deadline())

    const { token } = (
      await callAt(service.url, '/api/login', { body: { email: EMAIL, password: PASSWORD } })
    ).body
    assert.match(token, /^custom_/)
    assert.equal(await oneTimeTokens.find({ secret: token, purpose: 'x' }, deadline()), null)
    for (let times = 0; times < 2; times++)
      assert.equal((await callAt(service.url, '/api/me', { token })).status, 200)
    assert.equal(cache.size, 1)
    const status = await callAt(service.url, '/api/status', { method: 'GET', token: SERVICE_SECRET })
    assert.equal(status.status, 200)
    assert.equal((await callAt(service.url, '/api/logout', { token })).status, 200)
    assert.equal((await callAt(service.url, '/api/me', { token })).status, 401)

    assert.deepEqual([...called].toSorted(), names.toSorted())
  })

  it('are used by commands, too', async () => {
    const { called, adapters } = await createAdapters()
    await withStore(
      { configuration, database: uselessDatabase, adapters },
      async ({ customers, tokens, deadline }) => {
        const customer = await customers.add(
          { email: EMAIL, name: null, password: { password: PASSWORD } },
          deadline(),
        )
        assert.ok(customer)
        const bot = { customerId: customer.id, name: 'bot', abilities: [], expiresAtMs: null }
        assert.match((await tokens.create(bot, deadline()))?.secret ?? '', /^custom_/)
        await customers.disable(customer.id, deadline())
      },
    )
    const expected = [
      'audit',
      'blocklist',
      'customers',
      'ids',
      'invalidations',
      'loginTokens',
      'passwords',
      'secrets',
    ]
    for (const name of expected) assert.ok(called.has(name as keyof AdapterOverrides), name)
  })

  it('that are undefined keep the defaults', async (t) => {
    const undefinedAdapters = { audit: undefined, serviceSecrets: undefined, throttle: undefined }
    const service = await startService({
      configuration: { ...configuration, auditLog: null },
      log,
      version: '1.0.0',
      database: memoryDatabase(),
      adapters: undefinedAdapters as unknown as AdapterOverrides,
      accessLines: { write() {}, close() {} },
    })
    t.after(() => service.stop({ delay: false }))
    const body = { email: EMAIL, password: PASSWORD }
    assert.equal((await callAt(service.url, '/api/login', { body })).status, 401)
    assert.equal((await callAt(service.url, '/api/status', { method: 'GET', token: 'x' })).status, 401)
  })
})
