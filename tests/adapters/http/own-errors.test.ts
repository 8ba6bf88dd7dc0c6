import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  ApiError,
  Forbidden,
  Gone,
  PreconditionFailed,
  TooManyRequests,
} from '../../../src/adapters/http/api-error.ts'
import { NotFound } from '../../../src/adapters/http/errors.ts'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'

class PaymentRequired extends ApiError {
  status = 402
  reason = 'payment_required'
}
class BadGateway extends ApiError {
  status = 502
  reason = 'bad_gateway'
}
class WrongStatus extends ApiError {
  status = 200
  reason = 'fine'
}
class WrongReason extends ApiError {
  status = 402
  reason = 'Payment "required"'
}
class TakenReason extends ApiError {
  status = 402
  reason = 'not_found'
}
class OwnType extends ApiError {
  status = 402
  reason = 'own_type'
  override headers = { 'content-type': 'text/plain' }
}
class NeedsArguments extends ApiError {
  status = 402
  reason = 'needs'
  constructor(fields: { readonly cents: number }) {
    super(`It costs ${fields.cents} cents.`)
  }
}

let app: TestApp
let thrown: unknown
before(async () => {
  app = await createTestApp({
    routes: () => [
      route('POST /fail', {
        auth: 'none',
        throws: [PaymentRequired, NotFound, Forbidden, 'conflict'],
        handle() {
          throw thrown
        },
      }),
    ],
  })
})
after(() => app.close())

describe('An error of a route', () => {
  for (const [error, status, reason, sentence] of [
    [new PaymentRequired('Your plan has ended.'), 402, 'payment_required', 'Your plan has ended.'],
    [new PaymentRequired(), 402, 'payment_required', 'The request cannot be fulfilled.'],
    [new NeedsArguments({ cents: 5 }), 402, 'needs', 'It costs 5 cents.'],
    [new Forbidden('Ask the owner.'), 403, 'forbidden', 'Ask the owner.'],
    [new Gone(), 410, 'gone', 'The resource no longer exists.'],
    [new PreconditionFailed(), 412, 'precondition_failed', 'The resource has changed since it was read.'],
  ] as const)
    test(`${error.name} keeps the envelope: ${sentence}`, async () => {
      thrown = error
      const { status: sent, body } = await app.call('/api/fail')
      assert.deepEqual(
        { ...body, request_id: '' },
        { success: false, code: status, error: sentence, reason, request_id: '' },
      )
      assert.equal(sent, status)
      assert.deepEqual(app.errors, [])
    })

  test('TooManyRequests has Retry-After and its own sentence', async () => {
    thrown = new TooManyRequests(29.2, 'You may place ten orders a minute.')
    const { status, headers, body } = await app.call('/api/fail')
    assert.deepEqual(
      [status, headers.get('retry-after'), body.reason, body.error],
      [429, '30', 'too_many_requests', 'You may place ten orders a minute.'],
    )
  })

  test('of status 500 or higher is logged with its cause', async () => {
    thrown = new BadGateway('The bank does not respond.', { cause: new Error('ECONNREFUSED') })
    assert.deepEqual([(await app.call('/api/fail')).status, app.errors.at(-1)], [502, thrown])
    assert.equal(app.logged.at(-1)?.message, 'ECONNREFUSED')
  })

  for (const [error, message] of [
    [new WrongStatus(), 'WrongStatus: status must be a whole number from 400 to 599.'],
    [new WrongReason(), 'WrongReason: reason must be a word such as payment_required.'],
    [new OwnType(), 'OwnType: the service sets the header content-type of errors itself.'],
    [new TakenReason(), 'TakenReason: the reason not_found belongs to the status 404.'],
  ] as const)
    test(`with a mistake is a 500: ${message}`, async () => {
      thrown = error
      assert.equal((await app.call('/api/fail')).status, 500)
      assert.equal((app.errors.at(-1) as Error).message, message)
      assert.throws(
        () => route('GET /a', { auth: 'none', throws: [error.constructor as never], handle: () => ({}) }),
        new RegExp(message),
      )
    })
})

test('throws puts own errors into the OpenAPI document', async () => {
  const { body: document } = await app.call('/openapi.json', { method: 'GET' })
  const { responses } = document.paths['/api/fail'].post
  const at = (status: number) =>
    document.components.responses[responses[status].$ref.replace('#/components/responses/', '')]
  assert.equal(at(402).content['application/json'].examples.payment_required.value.reason, 'payment_required')
  assert.deepEqual(
    [403, 404, 409].map((status) => Object.keys(at(status).content['application/json'].examples)),
    [['forbidden'], ['not_found'], ['conflict']],
  )
  assert.ok(document.components.schemas.Failure.properties.code.enum.includes(402))
  assert.ok(document.components.schemas.Failure.properties.reason.enum.includes('payment_required'))
})

test('a class that needs arguments does not compile in throws', () => {
  // @ts-expect-error the documentation creates one without arguments
  assert.throws(() => route('GET /a', { auth: 'none', throws: [NeedsArguments], handle: () => ({}) }))
})
