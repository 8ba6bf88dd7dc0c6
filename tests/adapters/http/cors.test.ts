import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type RunningApp, startApp } from '../../support/running-app.ts'

let open: RunningApp
let closed: RunningApp
before(async () => {
  open = await startApp({
    env: { CORS_ORIGINS: 'https://app.example,capacitor://localhost', CORS_HEADERS: 'X-Tenant' },
  })
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

// Public case 086
test('a preflight of a listed origin allows the methods and headers of a client', async () => {
  const { status, headers } = await open.call('/api/me', { method: 'OPTIONS', headers: preflight })
  assert.equal(status, 204)
  assert.equal(headers.get('access-control-allow-origin'), 'https://app.example')
  assert.match(headers.get('access-control-allow-methods') ?? '', /\bPOST\b/)
  assert.equal(
    headers.get('access-control-allow-headers'),
    'Authorization, Content-Type, X-Request-Id, traceparent, tracestate, baggage, X-Tenant',
  )
  assert.equal(headers.get('allow'), 'OPTIONS, POST')
})

test('an app in a web view is allowed by its own scheme', async () => {
  const headers = { ...preflight, Origin: 'capacitor://localhost' }
  const response = await open.call('/api/me', { method: 'OPTIONS', headers })
  assert.equal(response.headers.get('access-control-allow-origin'), 'capacitor://localhost')
})

// Public case 086
test('a failure also has the CORS headers, because a browser would hide it without them', async () => {
  const { status, headers } = await open.call('/api/me', { headers: { Origin: 'https://app.example' } })
  assert.equal(status, 401)
  assert.equal(headers.get('access-control-allow-origin'), 'https://app.example')
  assert.equal(headers.get('vary'), 'Origin')
  assert.equal(
    headers.get('access-control-expose-headers'),
    'RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
  )
})

test('an origin that is not listed gets no permission', async () => {
  for (const Origin of ['https://evil.example', 'https://app.example.evil.example', 'null']) {
    const { headers } = await open.call('/api/me', { headers: { Origin } })
    assert.equal(headers.get('access-control-allow-origin'), null)
    assert.equal(headers.get('vary'), 'Origin')
  }
})

// Public case 086
test('without listed origins, a response to OPTIONS has Allow but no CORS headers', async () => {
  const { status, headers } = await closed.call('/api/me', { method: 'OPTIONS', headers: preflight })
  assert.equal(status, 204)
  assert.equal(headers.get('allow'), 'OPTIONS, POST')
  assert.deepEqual(
    [...headers.keys()].filter((name) => name.startsWith('access-control') || name === 'vary'),
    [],
  )
})
