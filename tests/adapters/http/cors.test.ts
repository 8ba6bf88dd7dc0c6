import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type RunningApp, startApp } from '../../support/running-app.ts'

let open: RunningApp
let closed: RunningApp
before(async () => {
  open = await startApp({ env: { CORS_ORIGINS: 'https://app.example,https://other.example' } })
  closed = await startApp({ database: open.database })
})
after(async () => {
  await closed.close()
  await open.close()
})

const preflight = {
  Origin: 'https://app.example',
  'Access-Control-Request-Method': 'POST',
  'Access-Control-Request-Headers': 'authorization,content-type',
}

test('case 086: a preflight of a listed origin is allowed what a client sends', async () => {
  const { status, headers } = await open.call('/api/me', { method: 'OPTIONS', headers: preflight })
  assert.equal(status, 204)
  assert.equal(headers.get('access-control-allow-origin'), 'https://app.example')
  assert.match(headers.get('access-control-allow-methods') ?? '', /\bPOST\b/)
  assert.match(headers.get('access-control-allow-headers') ?? '', /Authorization, Content-Type/)
  assert.equal(headers.get('allow'), 'OPTIONS, POST')
})

test('case 086: a failure carries the headers too, or a browser would hide it', async () => {
  const { status, headers } = await open.call('/api/me', { headers: { Origin: 'https://app.example' } })
  assert.equal(status, 401)
  assert.equal(headers.get('access-control-allow-origin'), 'https://app.example')
  assert.equal(headers.get('vary'), 'Origin')
  assert.equal(
    headers.get('access-control-expose-headers'),
    'RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
  )
})

test('an origin that is not listed is allowed nothing', async () => {
  for (const Origin of ['https://evil.example', 'https://app.example.evil.example', 'null']) {
    const { headers } = await open.call('/api/me', { headers: { Origin } })
    assert.equal(headers.get('access-control-allow-origin'), null)
    assert.equal(headers.get('vary'), 'Origin')
  }
})

test('case 086: without listed origins there are no CORS headers, and OPTIONS tells the methods alone', async () => {
  const { status, headers } = await closed.call('/api/me', { method: 'OPTIONS', headers: preflight })
  assert.equal(status, 204)
  assert.equal(headers.get('allow'), 'OPTIONS, POST')
  assert.deepEqual(
    [...headers.keys()].filter((name) => name.startsWith('access-control') || name === 'vary'),
    [],
  )
})
