import * as v from 'valibot'
import { respond } from '../../src/adapters/http/response/custom-response.ts'
import { route } from '../../src/adapters/http/routing/route.ts'

const COLLECTIONS = ['articles', 'comments', 'customers', 'invoices', 'parcels', 'returns', 'suppliers']
const STATES = ['draft', 'open', 'paid', 'void'] as const

const item = v.object({
  id: v.pipe(v.string(), v.uuid()),
  title: v.pipe(v.string(), v.minLength(1), v.maxLength(80), v.examples(['A title'])),
  state: v.picklist(STATES),
  quantity: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(99)), 1),
  tags: v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(20))), v.maxLength(5))),
})
const { id: _, ...own } = item.entries
const anItem = (id = '3f2b1c9e-5d47-4a86-9c1d-0f6e8a7b2c34') =>
  ({ id, title: 'A title', state: 'open', quantity: 1 }) as const

const card = v.object({ kind: v.literal('card'), number: v.pipe(v.string(), v.minLength(12)) })
const transfer = v.object({ kind: v.literal('transfer'), iban: v.pipe(v.string(), v.examples(['DE00'])) })

/** 40 routes of the kinds that the docs page distinguishes. */
export function fortyRoutes() {
  const routes = [...COLLECTIONS.flatMap(collectionRoutes), ...specialRoutes()]
  if (routes.length !== 40) throw new Error(`There are ${routes.length} routes.`)
  return routes
}

function collectionRoutes(name: string) {
  const tags = [`${name[0]?.toUpperCase()}${name.slice(1)}`]
  const params = v.object({ id: v.pipe(v.string(), v.uuid()) })
  return [
    route(`GET /${name}`, {
      auth: 'customer',
      abilities: [`${name}:read`],
      query: v.object({
        state: v.optional(v.picklist(STATES), 'open'),
        limit: v.optional(v.pipe(v.string(), v.regex(/^\d{1,3}$/)), '20'),
        tag: v.optional(v.array(v.string()), []),
      }),
      returns: v.object({ items: v.array(item), query: v.record(v.string(), v.any()) }),
      summary: `The ${name} of the customer, page by page`,
      tags,
      handle: ({ query }) => ({ items: [anItem()], query }),
    }),
    route(`POST /${name}`, {
      auth: 'customer',
      body: v.object(own),
      returns: v.object({ item }),
      status: 201,
      summary: `Add to the ${name}`,
      tags,
      handle: ({ body }) => ({ item: { ...anItem(), ...body } }),
    }),
    route(`GET /${name}/:id`, {
      auth: 'customer',
      params,
      returns: v.object({ item }),
      summary: `One of the ${name}`,
      tags,
      handle: ({ params: { id } }) => ({ item: anItem(id) }),
    }),
    route(`PATCH /${name}/:id`, {
      auth: 'customer',
      params,
      body: v.partial(v.object(own)),
      returns: v.object({ item }),
      summary: `Change one of the ${name}`,
      tags,
      handle: ({ params: { id }, body }) => ({ item: { ...anItem(id), ...body } as never }),
    }),
    route(`DELETE /${name}/:id`, {
      auth: 'customer',
      params,
      status: 204,
      summary: `Delete one of the ${name}`,
      tags,
      handle() {},
    }),
  ]
}

function specialRoutes() {
  return [
    route('PUT /files/:name', {
      auth: 'customer',
      body: 'bytes',
      accepts: ['text/csv'],
      returns: v.object({ bytes: v.number(), text: v.string(), type: v.string() }),
      summary: 'Upload a file',
      tags: ['Files'],
      handle: ({ body, headers }) => ({
        bytes: body.byteLength,
        text: Buffer.from(body).toString(),
        type: String(headers['content-type']),
      }),
    }),
    route('GET /files/report.csv', {
      auth: 'customer',
      responses: { 200: { type: 'text/csv', headers: ['Content-Disposition'] } },
      summary: 'Download a report',
      tags: ['Files'],
      handle: () =>
        respond({
          type: 'text/csv; charset=utf-8',
          headers: { 'Content-Disposition': 'attachment; filename="november.csv"' },
          body: 'id,price\nlamp,100\n',
        }),
    }),
    route('POST /payments', {
      auth: 'customer',
      body: v.object({
        amount: v.pipe(v.number(), v.gtValue(0)),
        method: v.variant('kind', [card, transfer]),
      }),
      returns: v.object({ method: v.variant('kind', [card, transfer]) }),
      summary: 'Pay by card or by transfer',
      tags: ['Payments'],
      handle: ({ body: { method } }) => ({ method }),
    }),
    route('POST /notes', {
      auth: 'none',
      body: v.union([
        v.pipe(v.object({ text: v.string() }), v.title('Text')),
        v.pipe(v.object({ link: v.pipe(v.string(), v.url()) }), v.title('Link')),
      ]),
      returns: v.object({ received: v.any() }),
      summary: 'Leave a note',
      tags: ['Payments'],
      handle: ({ body }) => ({ received: body }),
    }),
    route('GET /latest', {
      auth: 'none',
      responses: { 302: { headers: ['Location'] } },
      summary: 'Redirects to the latest article',
      tags: ['Payments'],
      handle: () => respond({ status: 302, headers: { Location: '/api/articles/1' } }),
    }),
  ]
}
