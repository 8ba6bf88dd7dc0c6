import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { tmpdir } from 'node:os'
import { after, before, test } from 'node:test'
import { createTestApp, type TestApp } from 'latchkey/testing'
import { shopRoutes } from '../src/routes.ts'

const webhookSecret = 'secret of the test'

let app: TestApp
before(async () => {
  app = await createTestApp({
    title: 'Shop',
    routes: () => shopRoutes({ folder: tmpdir(), webhookSecret, starts: async () => 1 }),
  })
})
after(() => app.close())
const get = (path: string, headers = {}) => app.call(path, { method: 'GET', headers })

test('a webhook is accepted with the signature of its exact bytes', async () => {
  const body = '{ "order" : "1",\n\t"amount": 1.00e2 , "order":"\\u0034\\u0032" }'
  const sign = (text: string) => createHmac('sha256', webhookSecret).update(text).digest('hex')
  const post = (signature: string) =>
    app.call('/api/webhooks/payment', { body, headers: { 'X-Signature': signature } })
  assert.equal((await post(sign(body))).status, 200)
  assert.equal(app.logged.find(({ event }) => event === 'shop.paid')?.order, '42')
  for (const wrong of [sign(JSON.stringify(JSON.parse(body))), 'x', ''])
    assert.deepEqual((await post(wrong)).body.error, 'The signature does not match.')
})

test('a new product has a Location, an ETag and 304', async () => {
  const { status, headers, body } = await app
    .asService()
    .call('/api/products', { body: { id: 'wall', tags: [] } })
  assert.deepEqual([status, body], [201, { success: true, id: 'wall', tags: [] }])
  const path = headers.get('location') ?? ''
  const etag = (await get(path)).headers.get('etag') ?? ''
  assert.deepEqual((await get(path, { 'If-None-Match': etag })).status, 304)
  const latest = await fetch(`${app.url}/api/latest`, { redirect: 'manual' })
  assert.deepEqual([latest.status, latest.headers.get('location')], [302, path])
})

test('products are listed by several tags', async () => {
  const ids = async (query: string) =>
    (await get(`/api/products?${query}`)).body.products.map(({ id }: { id: string }) => id)
  assert.deepEqual(await ids('tag=light&tag=wood'), ['desk'])
  assert.deepEqual(await ids('tag=light'), ['desk', 'floor'])
})

test('a basket sets two cookies', async () => {
  const { status, headers } = await app.call('/api/basket')
  assert.deepEqual([status, headers.getSetCookie().length], [204, 2])
})

test('own errors have their sentence, and stand in the OpenAPI document', async () => {
  const ana = await app.as(await app.customer(), { abilities: [] })
  const { status, body } = await ana.call('/api/checkout')
  assert.deepEqual(
    [status, body.reason, body.error],
    [402, 'payment_required', 'Your trial has ended. Choose a plan.'],
  )
  for (let i = 0; i < 3; i++) assert.equal((await ana.call('/api/reviews')).status, 200)
  const limited = await ana.call('/api/reviews')
  assert.deepEqual([limited.status, limited.body.error], [429, 'You may write 3 reviews.'])
  assert.equal(limited.headers.get('retry-after'), '3600')
  const document = (await get('/openapi.json')).body
  assert.equal(document.info.title, 'Shop')
  assert.ok('402' in document.paths['/api/checkout'].post.responses)
})
