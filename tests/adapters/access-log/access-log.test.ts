import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AccessLogMode, accessLog } from '../../../src/adapters/access-log/access-log.ts'
import type { RespondedRequest } from '../../../src/application/ports/access-log.ts'

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

function anAnswer(different: Partial<RespondedRequest> = {}): RespondedRequest {
  return {
    requestId: 'r1',
    traceId: null,
    method: 'POST',
    route: '/api/orders/:id',
    beganMs: 4987.66,
    malformedToken: false,
    ...different,
  }
}

describe('The line of an answer', () => {
  it('has what the allow-list names, and nothing else', () => {
    const { log, texts, lines } = recorded('all')
    log.responded(Object.assign(anAnswer(), { url: '/api/orders/7?canary', headers: 'canary' }), 201)
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

  it('leaves out what is not known', () => {
    const { log, lines } = recorded('all')
    log.responded(anAnswer({ method: null, route: null, beganMs: null }), 400)
    const { time, ...rest } = lines()[0]
    assert.deepEqual(rest, { level: 'info', request_id: 'r1', status: 400, event: 'request' })
  })

  it('has the time in milliseconds with one decimal', () => {
    const { log, texts } = recorded('all')
    for (const ms of [0, 0.04, 0.06, 0.96, 3, 12_345.678])
      log.responded(anAnswer({ beganMs: 5000 - ms }), 200)
    assert.deepEqual(
      texts.map((text) => /"ms":([^,]+)/.exec(text)?.[1]),
      ['0.0', '0.0', '0.1', '1.0', '3.0', '12345.7'],
    )
  })

  it('tells each millisecond apart, also when the clock goes back', () => {
    const { log, time, lines } = recorded('all')
    for (const ms of [0, 0, 1, 0, -1000]) {
      time.wallMs = NOON + ms
      log.responded(anAnswer(), 200)
    }
    assert.deepEqual(
      lines().map((line) => Date.parse(line.time) - NOON),
      [0, 0, 1, 0, -1000],
    )
  })

  it('stays one line of JSON in ASCII whatever its texts hold', () => {
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
      log.responded(anAnswer({ requestId: hostile, method: hostile, route: hostile }), 200)
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
    for (const status of statuses) log.responded(anAnswer(), status)
    log.close()
    return lines().map(({ status }) => status)
  }

  it('of failures has the refusals', () => {
    assert.equal(recorded('failures').log.everyResponse, false)
    assert.deepEqual(logged('failures'), [401, 403, 429])
  })

  it('of all has all', () => {
    assert.equal(recorded('all').log.everyResponse, true)
    assert.deepEqual(logged('all'), statuses)
  })

  it('that is off has none', () => {
    assert.equal(recorded('off').log.everyResponse, false)
    assert.deepEqual(logged('off'), [])
  })

  it('tells of texts that cannot be tokens by their number, once a second, and of the rest when it is closed', async () => {
    const { log, lines } = recorded('failures')
    const refuse = (times: number) => {
      for (let i = 0; i < times; i++) log.responded(anAnswer({ malformedToken: true }), 401)
    }
    const told = () => lines().map(({ time, ...rest }) => rest)
    const counted = (count: number) => ({ level: 'info', event: 'token.malformed', count })
    refuse(700)
    await sleep(300)
    refuse(300)
    assert.deepEqual(told(), [])
    for (let i = 0; i < 200 && told().length === 0; i++) await sleep(20)
    assert.deepEqual(told(), [counted(1000)])
    refuse(7)
    log.close()
    log.close()
    assert.deepEqual(told(), [counted(1000), counted(7)])
  })
})
