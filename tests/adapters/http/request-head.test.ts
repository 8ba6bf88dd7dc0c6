import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import { RequestHead } from '../../../src/adapters/http/request/request-head.ts'
import { sendRaw } from '../../support/raw-http.ts'

it('has the fields that node has in the headers of a request', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const requests: IncomingMessage[] = []
  for (const event of ['request', 'checkExpectation'])
    server.on(event, (request, response) => {
      requests.push(request)
      response.end()
    })
  const chunked = ['Transfer-Encoding: chunked']
  for (const fields of [
    [
      'host: a',
      'CONTENT-LENGTH: 0',
      'X-Request-ID: b',
      'content-TYPE: text/plain',
      'Content-Encoding: gzip',
      'Content-Encoding: br',
      'X-Forwarded-For: 192.0.2.1',
      'Authorization: Bearer c',
    ],
    [
      'Host: a',
      'Expect: d',
      'eXPECT: e',
      'Upgrade: h2c',
      'Accept: */*',
      'x-request-id: f',
      'X-Request-Id: g',
    ],
    ['Host: ', ...chunked, 'Accept-Language: en', 'Accept-Encoding: br'],
  ]) {
    const end = fields.includes(chunked[0] as string) ? '0\r\n\r\n' : ''
    await sendRaw(
      (server.address() as AddressInfo).port,
      `GET / HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n${end}`,
      { responses: 1 },
    )
    const { headers, rawHeaders } = requests.at(-1) as IncomingMessage
    const head = new RequestHead(rawHeaders)
    assert.deepEqual(
      { ...head, hosts: 1, authorizations: 0, contentTypes: 0 },
      {
        hosts: 1,
        host: headers.host,
        authorizations: 0,
        authorization: headers.authorization,
        contentTypes: 0,
        contentType: headers['content-type'] ?? '',
        contentEncoding: headers['content-encoding'],
        contentLength: headers['content-length'],
        transferEncoding: headers['transfer-encoding'],
        expect: headers.expect,
        requestId: headers['x-request-id'],
        hasUpgrade: 'upgrade' in headers,
        hasForwardedFor: 'x-forwarded-for' in headers,
      },
    )
  }
  assert.equal(requests.length, 3)
  assert.deepEqual(
    [
      new RequestHead(['Host', 'a', 'host', 'b']).hosts,
      new RequestHead(['Authorization', '', 'AUTHORIZATION', '']).authorizations,
      new RequestHead(['Content-Type', '', 'CONTENT-TYPE', '']).contentTypes,
    ],
    [2, 2, 2],
  )
})
