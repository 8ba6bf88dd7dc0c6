import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { freePort } from '../../../src/adapters/embedded-postgres/server-address.ts'
import type { DocsPage } from '../../../src/adapters/http/docs-page/files.ts'
import { createTestApp } from '../../../src/testing/test-app.ts'
import { type RunningApp, startApp } from '../../support/running-app.ts'
import { temporaryFolder } from '../../support/running-process.ts'

const FOLDER = new URL('../../../src/adapters/http/docs-page/public/', import.meta.url)

const MAX_BYTES = 60_000
const BY_EXTENSION: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}
const NAMES = readdirSync(FOLDER).filter((name) => name !== 'index.html')

const TYPES: Readonly<Record<string, string>> = {
  '/docs': 'text/html; charset=utf-8',
  ...Object.fromEntries(NAMES.map((name) => [`/docs/${name}`, BY_EXTENSION[name.split('.')[1] ?? ''] ?? ''])),
  '/openapi.json': 'application/json; charset=utf-8',
}

interface Got {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

let app: RunningApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

/** Requests a path exactly as written: `fetch` would normalize its dots. */
function get(path: string, { method = 'GET', headers = {} } = {}, port = app.port): Promise<Got> {
  return new Promise((resolve, reject) => {
    request({ port, path, method, headers }, (response) => {
      const chunks: Buffer[] = []
      response
        .on('data', (chunk) => chunks.push(chunk))
        .on('end', () => {
          resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) })
        })
    })
      .on('error', reject)
      .end()
  })
}

describe('the files of the documentation', () => {
  for (const [path, type] of Object.entries(TYPES)) {
    test(`${path} is sent as ${type}, with an ETag for revalidation`, async () => {
      const { status, headers, body } = await get(path)
      assert.equal(status, 200)
      assert.equal(headers['content-type'], type)
      assert.equal(headers['content-length'], String(body.length))
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['cache-control'], 'no-cache')
      assert.match(String(headers['x-request-id']), /^[\w-]+$/)
      assert.match(String(headers.etag), /^"[\w-]{22}"$/)

      const etag = String(headers.etag)
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await get(path, { headers: { 'If-None-Match': known } })
        assert.deepEqual([again.status, again.body.length, again.headers.etag], [304, 0, etag])
        assert.equal(again.headers['content-type'], undefined)
      }
      assert.equal((await get(path, { headers: { 'If-None-Match': '"other"' } })).status, 200)

      const head = await get(path, { method: 'HEAD' })
      assert.deepEqual([head.status, head.body.length], [200, 0])
      assert.deepEqual([head.headers['content-length'], head.headers.etag], [String(body.length), etag])
    })
  }

  test('are those of the folder, unchanged', async () => {
    for (const name of NAMES) {
      assert.deepEqual((await get(`/docs/${name}`)).body, readFileSync(new URL(name, FOLDER)))
    }
  })

  test('are smaller than 60 kB together', (t) => {
    const bytes = readdirSync(FOLDER).reduce((sum, name) => sum + statSync(new URL(name, FOLDER)).size, 0)
    t.diagnostic(`${bytes} bytes`)
    assert.ok(bytes < MAX_BYTES, `${bytes} bytes`)
  })

  test('have a policy that allows no other origins and nothing inline', async () => {
    const policy = String((await get('/docs')).headers['content-security-policy'])
    const directives = Object.fromEntries(
      policy
        .split('; ')
        .map((directive) => [directive.split(' ')[0], directive.split(' ').slice(1).join(' ')]),
    )
    assert.equal(directives['default-src'], "'none'")
    for (const name of ['script-src', 'style-src', 'img-src', 'connect-src'])
      assert.equal(directives[name], "'self'", name)
    for (const name of ['base-uri', 'form-action', 'frame-ancestors'])
      assert.equal(directives[name], "'none'", name)
    assert.doesNotMatch(policy, /unsafe|\*|data:|https?:/)
  })

  test('allow no path traversal out of their folder', async () => {
    for (const path of [
      '/docs/',
      '/docs/..',
      '/docs/../package.json',
      '/docs/..%2fpackage.json',
      '/docs/%2e%2e/package.json',
      '/docs/..%5cpackage.json',
      '/docs//etc/passwd',
      '/docs/index.html',
      '/docs/page.js/',
      '/docs/page.js%00',
      '/docs/PAGE.JS',
      '/DOCS',
    ]) {
      const { status, headers } = await get(path)
      assert.ok(status === 404 || status === 400, `${path}: ${status}`)
      assert.equal(headers['content-type'], 'application/json; charset=utf-8')
    }
  })

  test('allow only GET and HEAD: other methods get 405', async () => {
    const { status, headers, body } = await get('/docs', { method: 'POST' })
    assert.equal(status, 405)
    assert.equal(headers.allow, 'GET, HEAD, OPTIONS')
    assert.equal(JSON.parse(body.toString()).reason, 'method_not_allowed')
  })

  test('are where / redirects to', async () => {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, body } = await get('/', { method })
      assert.deepEqual([status, headers.location, body.length], [302, '/docs', 0])
    }
    assert.equal((await get('/', { method: 'POST' })).headers.allow, 'GET, HEAD, OPTIONS')
  })

  test('are not served with DOCS=off', async () => {
    const silent = await startApp({ env: { DOCS: 'off' }, database: app.database })
    try {
      for (const path of ['/', ...Object.keys(TYPES)])
        assert.equal((await get(path, {}, silent.port)).status, 404, path)
      assert.equal((await get('/livez', {}, silent.port)).status, 200)
    } finally {
      await silent.close()
    }
  })
})

describe('a page that replaces the docs page', () => {
  const page = new URL('index.html', FOLDER)

  test('is served with its files, under the same policy, and without those of the default page', async (t) => {
    const folder = await temporaryFolder()
    t.after(() => folder.remove())
    const file = (name: string) => pathToFileURL(join(folder.path, name))
    for (const name of ['page.html', 'page.js']) writeFileSync(file(name), name)
    const own = await createTestApp({
      docs: { '/docs': file('page.html'), '/docs/own/page.js': file('page.js') },
    })
    t.after(() => own.close())
    const port = Number(new URL(own.url).port)
    for (const [path, text, type] of [
      ['/docs', 'page.html', TYPES['/docs']],
      ['/docs/own/page.js', 'page.js', BY_EXTENSION.js],
    ] as const) {
      const { status, headers, body } = await get(path, {}, port)
      assert.deepEqual([status, body.toString(), headers['content-type']], [200, text, type])
      const policy = (await get('/docs')).headers['content-security-policy']
      assert.equal(headers['content-security-policy'], policy)
    }
    assert.equal((await get('/docs/page.js', {}, port)).status, 404)
    assert.equal((await get('/openapi.json', {}, port)).status, 200)
  })

  const refused: readonly (readonly [string, DocsPage, RegExp])[] = [
    [
      'without the page itself',
      // @ts-expect-error the page itself is missing
      { '/docs/page.js': page },
      /^docs needs the page itself, with the path "\/docs"\.$/,
    ],
    [
      'with a path elsewhere',
      // @ts-expect-error the other paths begin with /docs/
      { '/docs': page, '/docs-other': page },
      /^docs: "\/docs-other" is not below \/docs\.$/,
    ],
    [
      'without its file',
      { '/docs': new URL('no page.html', FOLDER) },
      /^docs: \/.*\/no page\.html does not exist\.$/,
    ],
    [
      'at a URL that names no file',
      { '/docs': new URL('https://a/b') },
      /^docs: https:\/\/a\/b does not exist\.$/,
    ],
    [
      'of an unknown type',
      { '/docs': new URL('../files.ts', FOLDER) },
      /^\/docs: \/.*files\.ts needs one of these extensions: html,/,
    ],
  ]
  for (const [what, docs, sentence] of refused)
    test(`is refused ${what}`, async () => {
      await assert.rejects(createTestApp({ docs }), { name: 'RouteRefused', message: sentence })
    })
})

describe('the document of a running service', () => {
  test('has the server URL of PUBLIC_URL, or else of the listening address', async () => {
    const servers = async (port: number) =>
      JSON.parse((await get('/openapi.json', {}, port)).body.toString()).servers
    assert.deepEqual(await servers(app.port), [{ url: app.url }])
    const port = await freePort()
    const env = { PUBLIC_URL: 'https://api.example.com/shop/', PORT: String(port) }
    const known = await startApp({ env, database: app.database })
    try {
      assert.deepEqual(await servers(port), [{ url: 'https://api.example.com/shop' }])
    } finally {
      await known.close()
    }
  })
})

test('the page shows a finite description of a recursive schema', async () => {
  const { describeType } = await import(new URL('schema.js', FOLDER).href)
  const document = { rule: { anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/rule' } }] } }
  assert.match(describeType(document, { $ref: '#/rule' }), /^string \| list of string \| list of .*…$/)
})
