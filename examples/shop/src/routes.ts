import { createHmac, timingSafeEqual } from 'node:crypto'
import { Readable } from 'node:stream'
import { Forbidden, NotFound, respond, route, TooManyRequests } from 'latchkey'
import * as v from 'valibot'
import { PaymentRequired } from './errors.ts'
import { fileRoutes } from './files.ts'

const MAX_REVIEWS = 3
const product = v.object({ id: v.string(), tags: v.array(v.string()) })
const PRODUCTS = [
  { id: 'desk', tags: ['wood', 'light'] },
  { id: 'floor', tags: ['light'] },
]

/** The dependencies of the routes. */
export interface ShopOptions {
  /** The folder of uploaded files. */
  readonly folder: string
  readonly webhookSecret: string
  readonly starts: (timeoutMs: number) => Promise<number>
}

/** Returns the routes of the shop. */
export function shopRoutes({ folder, webhookSecret, starts }: ShopOptions) {
  const products = [...PRODUCTS]
  const reviews = new Map<string, number>()
  return [
    ...fileRoutes(folder),
    route('POST /webhooks/payment', {
      auth: 'none',
      body: v.object({ order: v.string() }),
      rawBody: true,
      throws: [Forbidden],
      handle({ body, rawBody, headers, log }) {
        // The signature covers the bytes as they were sent, which the parsed body does not have.
        const expected = createHmac('sha256', webhookSecret).update(rawBody).digest()
        const presented = Buffer.from(String(headers['x-signature'] ?? ''), 'hex')
        if (presented.length !== expected.length || !timingSafeEqual(presented, expected))
          throw new Forbidden('The signature does not match.')
        log.info('shop.paid', { order: body.order })
      },
    }),
    route('GET /products', {
      auth: 'none',
      query: v.object({ tag: v.optional(v.array(v.string()), []) }),
      returns: v.object({ products: v.array(product) }),
      handle: ({ query }) => ({
        products: products.filter(({ tags }) => query.tag.every((tag) => tags.includes(tag))),
      }),
    }),
    route('POST /products', {
      auth: 'service',
      body: product,
      returns: product,
      responses: { 201: { headers: ['Location'] } },
      handle({ body }) {
        products.push(body)
        return respond({ status: 201, headers: { Location: `/api/products/${body.id}` }, body })
      },
    }),
    route('GET /products/:id', {
      auth: 'none',
      returns: product,
      throws: ['not_found'],
      handle({ params }) {
        const found = products.find(({ id }) => id === params.id)
        if (found === undefined) throw new NotFound('There is no such product.')
        const headers = { ETag: `"${found.id}-${found.tags.length}"`, 'Cache-Control': 'no-cache' }
        return respond({ headers, body: found })
      },
    }),
    route('GET /products.csv', {
      auth: 'none',
      responses: { 200: { type: 'text/csv', headers: ['Content-Disposition'] } },
      handle: () =>
        respond({
          type: 'text/csv; charset=utf-8',
          headers: { 'Content-Disposition': 'attachment; filename="products.csv"' },
          body: Readable.from(csvLines()),
        }),
    }),
    route('GET /latest', {
      auth: 'none',
      responses: { 302: { headers: ['Location'] } },
      handle: () => respond({ status: 302, headers: { Location: `/api/products/${products.at(-1)?.id}` } }),
    }),
    route('POST /basket', {
      auth: 'none',
      responses: { 204: { headers: ['Set-Cookie'] } },
      handle: () =>
        respond({
          status: 204,
          headers: { 'Set-Cookie': ['basket=7; Path=/; HttpOnly', 'theme=dark; Path=/'] },
        }),
    }),
    route('POST /checkout', {
      auth: 'customer',
      throws: [PaymentRequired],
      handle() {
        throw new PaymentRequired('Your trial has ended. Choose a plan.')
      },
    }),
    route('POST /reviews', {
      auth: 'customer',
      throws: [TooManyRequests],
      handle({ customer }) {
        const count = (reviews.get(customer.id) ?? 0) + 1
        if (count > MAX_REVIEWS) throw new TooManyRequests(3600, `You may write ${MAX_REVIEWS} reviews.`)
        reviews.set(customer.id, count)
      },
    }),
    route('GET /starts', {
      auth: 'none',
      returns: v.object({ starts: v.number() }),
      handle: async ({ deadline }) => ({ starts: await deadline.run(starts) }),
    }),
  ]
}

/** 50,000 lines, which are created at the speed of the client. */
function* csvLines(): Generator<string> {
  yield 'id,price\n'
  for (let id = 1; id <= 50_000; id++) yield `lamp-${id},${id * 100}\n`
}
