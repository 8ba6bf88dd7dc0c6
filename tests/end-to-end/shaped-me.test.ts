import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as v from 'valibot'
import type { MeResponse } from '../../src/adapters/http/routes/built-in-routes.ts'
import { presentProfile, profile } from '../../src/adapters/http/routes/profile.ts'
import { runProgram } from '../../src/program/program.ts'
import { startApp } from '../support/running-app.ts'
import { until } from '../support/until.ts'

interface Content {
  readonly schema: { readonly properties: object }
}

const returns = v.object({ ...profile.entries, domain: v.pipe(v.string(), v.examples(['example.com'])) })

describe('the custom response of me', () => {
  for (const TOKEN_CACHE_TTL of ['60s', '0s']) {
    test(`has only the fields of its schema, with TOKEN_CACHE_TTL=${TOKEN_CACHE_TTL}`, async (t) => {
      const shaped: MeResponse<typeof returns> = {
        returns,
        present(caller) {
          const extended = {
            ...presentProfile(caller),
            domain: caller.customer.email.split('@')[1] ?? '',
            hash: 'secret',
          }
          return extended
        },
      }
      const app = await startApp({ env: { TOKEN_CACHE_TTL }, me: shaped as MeResponse })
      t.after(() => app.close())
      const { email } = await app.addCustomer()
      const token = await app.login(email)
      for (let call = 0; call < 2; call++) {
        const { status, body } = await app.call('/api/me', { token })
        assert.equal(status, 200)
        assert.deepEqual(Object.keys(body), ['success', 'customer', 'token', 'domain'])
        assert.deepEqual([body.domain, body.customer.email], ['example.com', email])
      }
    })
  }

  test('is computed once while the validation is cached', async (t) => {
    let created = 0
    const app = await startApp({
      me: {
        returns: v.object({ created: v.number() }),
        present: () => ({ created: ++created }),
      },
    })
    t.after(() => app.close())
    const token = await app.login((await app.addCustomer()).email)
    await until(() => app.service.invalidations.isCurrent())
    const values = []
    for (let call = 0; call < 5; call++) values.push((await app.call('/api/me', { token })).body.created)
    assert.deepEqual(values, Array(5).fill(values[0]))
  })

  test('is documented with only its own fields', async (t) => {
    const app = await startApp({
      me: { returns: v.object({ plan: v.string() }), present: () => ({ plan: 'a' }) },
    })
    t.after(() => app.close())
    const { body } = await app.call('/openapi.json', { method: 'GET' })
    const [content] = Object.values<Content>(body.paths['/api/me'].post.responses[200].content)
    assert.deepEqual(Object.keys(content?.schema.properties ?? {}), ['success', 'plan'])
  })

  test('causes 500 and a log line if it does not match its schema', async (t) => {
    const present = () => ({ plan: 1 })
    const app = await startApp({ me: { returns: v.object({ plan: v.string() }), present } })
    t.after(() => app.close())
    const token = await app.login((await app.addCustomer()).email)
    assert.equal((await app.call('/api/me', { token })).body.reason, 'internal')
    assert.ok(app.logLines.some((line) => line.includes('request.failed')))
  })

  test('makes the start fail if its declaration is invalid', async () => {
    for (const wrong of [
      { returns: v.object({ success: v.boolean() }), present: () => ({ success: true }) },
      { returns: v.object({ plan: v.string() }), present: undefined as never },
    ]) {
      await assert.rejects(startApp({ me: wrong }), { name: 'RouteRefused' })
    }
  })

  test('is typed by its schema', () => {
    const plan = v.object({ plan: v.string() })
    // Never called: only the types are checked.
    const programs = [
      () =>
        runProgram({
          version: '1',
          me: { returns: plan, present: (caller) => ({ plan: caller.token.name }) },
        }),
      // @ts-expect-error a field is missing
      () => runProgram({ version: '1', me: { returns: plan, present: () => ({}) } }),
      // @ts-expect-error a field has another type
      () => runProgram({ version: '1', me: { returns: plan, present: () => ({ plan: 1 }) } }),
      // @ts-expect-error it must not be asynchronous
      () => runProgram({ version: '1', me: { returns: plan, present: async () => ({ plan: '' }) } }),
    ]
    assert.equal(programs.length, 4)
  })
})
