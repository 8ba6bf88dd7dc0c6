import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTestApp, type TestApp } from 'latchkey/testing'
import { swaggerUi } from '../docs.ts'

let app: TestApp
before(async () => {
  app = await createTestApp({ title: 'Shop', docs: swaggerUi })
})
after(() => app.close())

test('every file of the page is served, under a policy without unsafe sources', async () => {
  for (const path of Object.keys(swaggerUi)) {
    const { status, headers } = await fetch(app.url + path)
    assert.equal(status, 200, path)
    assert.match(headers.get('content-security-policy') ?? '', /script-src 'self'/)
    assert.doesNotMatch(headers.get('content-security-policy') ?? '', /unsafe/)
  }
})

test('the page names only files that are served', async () => {
  const html = await (await fetch(`${app.url}/docs`)).text()
  const names = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => `/${name}`)
  assert.equal(names.length, 5)
  for (const name of names) assert.ok(name in swaggerUi, name)
})
