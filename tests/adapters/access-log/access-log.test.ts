import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { accessLog } from '../../../src/adapters/access-log/access-log.ts'
import type { AccessLogMode, RespondedRequest } from '../../../src/application/ports/access-log.ts'

const NOON = Date.parse('2030-01-02T12:00:00.000Z')

function recorded(mode: AccessLogMode) {
  const texts: string[] = []
  const time = { wallMs: NOON, monotonicMs: 5000 }
  const log = accessLog({
    mode,
    lines: { write: (line) => void texts.push(line), close() {} },
    clock: { nowMs: () => time.wallMs, monotonicMs: () => time.monotonicMs, after: () => () => {} },
  })
  return { log, texts, time, lines: () => texts.map((text) => JSON.parse(text)) }
}

function aRequest(different: Partial<RespondedRequest> = {}): RespondedRequest {
  return {
    requestId: 'r1',
    address: '192.0.2.7',
    traceId: null,
    spanId: null,
    method: 'POST',
    route: '/api/orders/:id',
    beganMs: 4987.66,
    malformedToken: false,
    ...different,
  }
}

describe('The line of a response', () => {
  it('contains exactly the fields of the allow-list', () => {
    const { log, texts, lines } = recorded('all')
    log.responded(Object.assign(aRequest(), { url: '/api/orders/7?canary', headers: 'canary' }), 201)
    assert.deepEqual(lines(), [
      {
        level: 'info',
        time: '2030-01-02T12:00:00.000Z',
        request_id: 'r1',
        method: 'POST',
        route: '/api/orders/:id',
        status: 201,
        ms: 12.3,
        event: 'request',
      },
    ])
    assert.match(texts[0] ?? '', /^\{[ -~]+\}\n$/)
  })

  it('omits unknown fields', () => {
    const { log, lines } = recorded('all')
    log.responded(aRequest({ method: null, route: null, beganMs: null }), 400)
    const { time, ...rest } = lines()[0]
    assert.deepEqual(rest, { level: 'info', request_id: 'r1', status: 400, event: 'request' })
  })

  it('contains the duration in milliseconds with one decimal', () => {
    const { log, texts } = recorded('all')
    for (const ms of [0, 0.04, 0.06, 0.96, 3, 12_345.678])
      log.responded(aRequest({ beganMs: 5000 - ms }), 200)
    assert.deepEqual(
      texts.map((text) => /"ms":([^,]+)/.exec(text)?.[1]),
      ['0.0', '0.0', '0.1', '1.0', '3.0', '12345.7'],
    )
  })

  it('shows each millisecond, also after the clock is set back', () => {
    const { log, time, lines } = recorded('all')
    for (const ms of [0, 0, 1, 0, -1000]) {
      time.wallMs = NOON + ms
      log.responded(aRequest(), 200)
    }
    assert.deepEqual(
      lines().map((line) => Date.parse(line.time) - NOON),
      [0, 0, 1, 0, -1000],
    )
  })

  it('is one line of ASCII JSON for any text', () => {
    for (const hostile of [
      '\r\n{"event":"forged"}',
      '"',
      '\\',
      '\u2028',
      '\u007f',
      '\u009b2J',
      '\ud83e',
      'é🦊',
      '',
    ]) {
      const { log, texts, lines } = recorded('all')
      log.responded(aRequest({ requestId: hostile, method: hostile, route: hostile }), 200)
      assert.match(texts[0] ?? '', /^\{[ -~]+\}\n$/)
      const { request_id, method, route, event } = lines()[0]
      assert.deepEqual([request_id, method, route, event], [hostile, hostile, hostile, 'request'])
    }
  })
})

describe('An access log', () => {
  const statuses = [200, 204, 400, 401, 403, 404, 408, 422, 429, 431, 500, 503]
  const logged = (mode: AccessLogMode) => {
    const { log, lines } = recorded(mode)
    for (const status of statuses) log.responded(aRequest(), status)
    log.close()
    return lines().map(({ status }) => status)
  }

  it('logs refusals in the mode failures', () => {
    assert.equal(recorded('failures').log.everyResponse, false)
    assert.deepEqual(logged('failures'), [401, 403, 429])
  })

  it('logs every response in the mode all', () => {
    assert.equal(recorded('all').log.everyResponse, true)
    assert.deepEqual(logged('all'), statuses)
  })

  it('logs nothing in the mode off', () => {
    assert.equal(recorded('off').log.everyResponse, false)
    assert.deepEqual(logged('off'), [])
  })

  it('logs ten refusals of an address in a second, and then their number', () => {
    const { log, lines } = recorded('failures')
    for (let i = 0; i < 25; i++) log.responded(aRequest(), 401)
    for (let i = 0; i < 12; i++) log.responded(aRequest({ address: '2001:db8::/64' }), 429)
    log.close()
    assert.deepEqual(
      lines()
        .slice(20)
        .map(({ time, ...rest }) => rest),
      [
        { level: 'info', address: '192.0.2.7', count: 15, event: 'request.left_out' },
        { level: 'info', address: '2001:db8::/64', count: 2, event: 'request.left_out' },
      ],
    )
  })

  it('names no address when refusals of many addresses are counted', () => {
    const { log, lines } = recorded('failures')
    for (let i = 0; i < 1500; i++) log.responded(aRequest({ address: `192.0.2.${i}` }), 401)
    log.close()
    const { time, ...last } = lines().at(-1)
    assert.deepEqual(last, { level: 'info', count: 500, event: 'request.left_out' })
  })

  it('logs every response in the mode all, also of one address', () => {
    const { log, lines } = recorded('all')
    for (let i = 0; i < 100; i++) log.responded(aRequest(), 401)
    assert.equal(lines().length, 100)
  })

  it('counts malformed tokens and logs their number once a second, and the rest when it is closed', async () => {
    const { log, lines } = recorded('failures')
    const refuse = (times: number) => {
      for (let i = 0; i < times; i++) log.responded(aRequest({ malformedToken: true }), 401)
    }
    const logged = () => lines().map(({ time, ...rest }) => rest)
    const counted = (count: number) => ({ level: 'info', event: 'token.malformed', count })
    refuse(700)
    await sleep(300)
    refuse(300)
    assert.deepEqual(logged(), [])
    for (let i = 0; i < 200 && logged().length === 0; i++) await sleep(20)
    assert.deepEqual(logged(), [counted(1000)])
    refuse(7)
    log.close()
    log.close()
    assert.deepEqual(logged(), [counted(1000), counted(7)])
  })
})
