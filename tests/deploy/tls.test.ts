import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'
import { type Balancer, DEPLOY, openBalancer } from '../support/balancer.ts'
import { selfSignedFor, withoutOpenssl } from '../support/certificate.ts'
import { fencedBlocks } from '../support/fenced-blocks.ts'
import { hasHaProxy } from '../support/haproxy.ts'
import { hasNginx } from '../support/nginx.ts'
import { temporaryFolder } from '../support/running-process.ts'

const PAGE = 'docs/operations/deployment.md'
/** In place of the shipped limit, which would take this machine seconds. */
const MAX_CONNECTIONS = 20
const HSTS = 'max-age=31536000'

/** The ports and files of a proxy. */
interface Places {
  readonly tls: number
  readonly plain: number
  readonly service: number
  readonly folder: string
}

/** Returns the shipped configuration with the documented lines for TLS. */
const PROXIES = [
  {
    name: 'nginx',
    skip: !hasNginx() && 'TLS IN NGINX WAS NOT TESTED: nginx is not installed',
    redirectsTo: 'https://api.example.com/livez?a=b',
    refusal: /^429$/,
    settings({ tls, plain, service, folder }: Places): string {
      const [block = ''] = fencedBlocks(PAGE, 'nginx')
      const [, lines = '', redirect = ''] =
        /^server \{\n([\s\S]*)^ {2}# … the rest of the server .*\n\}\n(server \{[\s\S]*)$/m.exec(block) ?? []
      return readFileSync(join(DEPLOY, 'nginx.conf'), 'utf8')
        .replace(/^ *listen 127\.0\.0\.1:8080 .*\n/m, lines)
        .replace(/\n\}\s*$/, `\n${redirect}\n}\n`)
        .replace('limit_conn sources 500;', `limit_conn sources ${MAX_CONNECTIONS};`)
        .replace('listen 443 ssl;', `listen 127.0.0.1:${tls} ssl;`)
        .replace('listen 80;', `listen 127.0.0.1:${plain};`)
        .replace('/etc/nginx/tls/fullchain.pem', join(folder, 'cert.pem'))
        .replace('/etc/nginx/tls/key.pem', join(folder, 'key.pem'))
        .replace(/^ *server 127\.0\.0\.1:300[234] .*\n/gm, '')
        .replace('127.0.0.1:3001', `127.0.0.1:${service}`)
    },
    check: (file: string, folder: string) => ['nginx', '-t', '-c', file, '-g', `pid ${join(folder, 'pid')};`],
    start: (file: string, folder: string) =>
      spawn('nginx', ['-c', file, '-g', `daemon off; pid ${join(folder, 'pid')};`], {
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
  },
  {
    name: 'HAProxy',
    skip: !hasHaProxy() && 'TLS IN HAPROXY WAS NOT TESTED: HAProxy is not installed',
    redirectsTo: 'https://localhost/livez?a=b',
    refusal: /ECONNRESET|EPIPE|hang up|disconnected/,
    settings({ tls, plain, service, folder }: Places): string {
      const [block = ''] = fencedBlocks(PAGE, 'haproxy')
      writeFileSync(
        join(folder, 'both.pem'),
        ['cert.pem', 'key.pem'].map((name) => readFileSync(join(folder, name), 'utf8')).join(''),
      )
      return readFileSync(join(DEPLOY, 'haproxy.cfg'), 'utf8')
        .replace(/^ {2}bind .*\n/m, block.replace(/^/gm, '  '))
        .replace('sc0_conn_cur gt 500', `sc0_conn_cur gt ${MAX_CONNECTIONS}`)
        .replace(':443 ssl', `127.0.0.1:${tls} ssl`)
        .replace('bind :80', `bind 127.0.0.1:${plain}`)
        .replace('/etc/haproxy/tls/api.example.com.pem', join(folder, 'both.pem'))
        .replace(/^ {2}server latchkey[234] .*\n/gm, '')
        .replace(/"\$\{LATCHKEY1-.*\}"/, `127.0.0.1:${service}`)
    },
    check: (file: string) => ['haproxy', '-c', '-f', file],
    start: (file: string) => spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] }),
  },
]

for (const proxy of PROXIES)
  describe(`${proxy.name} with the documented lines for TLS`, { skip: proxy.skip || withoutOpenssl }, () => {
    const service = createServer(respond)
    const hanging: ServerResponse[] = []
    let folder: Awaited<ReturnType<typeof temporaryFolder>>
    let ca: Buffer
    let places: Places
    let balancer: Balancer
    let file = ''
    before(async () => {
      folder = await temporaryFolder()
      ca = selfSignedFor(folder.path).cert
      await once(service.listen(0, '127.0.0.1'), 'listening')
      const { port } = service.address() as AddressInfo
      places = { tls: await freePort(), plain: await freePort(), service: port, folder: folder.path }
      file = join(folder.path, 'settings')
      writeFileSync(file, proxy.settings(places))
      balancer = await openBalancer(places.tls, () => proxy.start(file, folder.path))
    })
    after(async () => {
      await balancer?.close()
      service.closeAllConnections()
      service.close()
      folder?.remove()
    })

    function respond(request: IncomingMessage, response: ServerResponse): void {
      if (request.url === '/hang') hanging.push(response)
      else response.writeHead(request.url === '/missing' ? 404 : 200).end(JSON.stringify(request.headers))
    }

    async function get(path: string): Promise<IncomingMessage> {
      const request = httpsRequest({
        host: '127.0.0.1',
        servername: 'localhost',
        port: places.tls,
        path,
        ca,
        agent: false,
      })
      const [response] = await once(request.end(), 'response')
      return response
    }

    test('is accepted without a warning', () => {
      const [program = '', ...args] = proxy.check(file, folder.path)
      const { status, stderr, stdout } = spawnSync(program, args, { encoding: 'utf8' })
      assert.equal(status, 0, stderr)
      assert.doesNotMatch(stderr + stdout, /warn/i)
    })

    test('forwards with the address of the client, and demands TLS from then on, also with an error', async () => {
      for (const [path, status] of [
        ['/livez', 200],
        ['/missing', 404],
      ] as const) {
        const response = await get(path)
        assert.deepEqual([response.statusCode, response.headers['strict-transport-security']], [status, HSTS])
        assert.equal(JSON.parse(await text(response))['x-forwarded-for'], '127.0.0.1')
      }
    })

    test('redirects plain HTTP', async () => {
      const request = httpRequest({
        host: '127.0.0.1',
        port: places.plain,
        path: '/livez?a=b',
        headers: { Host: 'localhost' },
      })
      const [response] = await once(request.end(), 'response')
      assert.deepEqual([response.statusCode, response.headers.location], [301, proxy.redirectsTo])
      response.resume()
    })

    test(`serves ${MAX_CONNECTIONS} connections of one address, and refuses the next`, async () => {
      const held: Promise<IncomingMessage>[] = []
      while (hanging.length < MAX_CONNECTIONS) {
        const before = hanging.length
        const one = get('/hang')
        let isRefused = false
        one
          .catch(() => {})
          .finally(() => {
            isRefused = true
          })
        while (hanging.length === before && !isRefused) await setImmediate()
        // An earlier connection may still be counted.
        if (!isRefused) held.push(one)
      }
      const outcome = await get('/livez').then(
        (response) => `${response.resume().statusCode}`,
        (error: Error) => `${error}`,
      )
      assert.match(outcome, proxy.refusal)
      for (const response of hanging) response.end()
      for (const { statusCode } of await Promise.all(held)) assert.equal(statusCode, 200)
      // The proxy counts a connection a moment longer than its client.
      for (;;) if ((await get('/livez').catch(() => null))?.resume().statusCode === 200) break
    })
  })
