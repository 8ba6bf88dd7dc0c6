import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import * as v from 'valibot'
import { respond } from '../../../../src/adapters/http/response/custom-response.ts'
import { route } from '../../../../src/adapters/http/routing/route.ts'
import { createTestApp, type TestApp } from '../../../../src/testing/test-app.ts'
import { startProcess, temporaryFolder } from '../../../support/running-process.ts'

const PAGE = new URL('../../../../src/adapters/http/docs-page/public/', import.meta.url)
const load = (name: string) => import(new URL(name, PAGE).href)
const { SAMPLES } = await load('samples.js')
const { listOperations } = await load('operations.js')
const { createRequest } = await load('request.js')

/** A text with what quoting in a shell, JavaScript, Python or PHP could get wrong. */
const HARD = `it's "$HOME" \`id\` \\n \${x} {$y} %41 @ # é 🦊\nnext\tline \\\\ \\`
const BYTES = Buffer.from([0, 255, 10, 13, 64, 39])

/** The language's program, its arguments before the file, and the name of the file. */
const LANGUAGES = {
  curl: ['sh', ['-eu'], 'sample.sh'],
  TypeScript: [process.execPath, ['--import', import.meta.resolve('tsx')], 'sample.mts'],
  Python: ['python3', [], 'sample.py'],
  PHP: ['php', [], 'sample.php'],
} as const

interface Seen {
  readonly [part: string]: unknown
}

let seen: Seen[] = []
const record = (request: Seen) => {
  seen.push(request)
  return { received: true }
}
const UUID = '3f2b1c9e-5d47-4a86-9c1d-0f6e8a7b2c34'
const returns = v.object({ received: v.boolean() })

function echoRoutes() {
  return [
    route('GET /items/:name', {
      auth: 'customer',
      query: v.object({ tag: v.optional(v.array(v.string()), []), text: v.optional(v.string()) }),
      returns,
      handle: ({ customer, params, query }) => record({ email: customer.email, params, query }),
    }),
    route('POST /items/:name', {
      auth: 'none',
      body: v.any(),
      rawBody: true,
      returns,
      handle: ({ params, body, rawBody }) => record({ params, body, text: Buffer.from(rawBody).toString() }),
    }),
    route('PUT /files/:name', {
      auth: 'customer',
      body: 'bytes',
      accepts: ['image/png', 'text/csv'],
      returns,
      handle: ({ params, body, headers }) =>
        record({ params, bytes: [...body], type: headers['content-type'] }),
    }),
    route('GET /report.csv', {
      auth: 'customer',
      responses: { 200: { type: 'text/csv' } },
      handle: ({ customer }) => {
        record({ email: customer.email })
        return respond({ type: 'text/csv', body: BYTES })
      },
    }),
    route('DELETE /things/:id', {
      auth: 'customer',
      params: v.object({ id: v.pipe(v.string(), v.uuid()) }),
      status: 204,
      handle: ({ params }) => void record({ params }),
    }),
  ]
}

let app: TestApp
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let secret = ''
// biome-ignore lint/suspicious/noExplicitAny: the modules of the page have no types
let operations: any[]
before(async () => {
  folder = await temporaryFolder()
  app = await createTestApp({ routes: echoRoutes })
  const { email } = await app.customer({ email: 'ana@example.com', password: 'correct horse 9' })
  const login = await app.call('/api/login', { body: { email, password: 'correct horse 9' } })
  secret = login.body.token
  operations = listOperations((await app.call('/openapi.json', { method: 'GET' })).body)
})
after(async () => {
  await app?.close()
  folder?.remove()
})

for (const [language, [command, args, file]] of Object.entries(LANGUAGES)) {
  const isMissing =
    spawnSync('sh', ['-c', 'command -v "$1"', 'sh', language === 'curl' ? 'curl' : command]).status !== 0
  const skip = isMissing && `${command} is not installed, and the samples in ${language} were NOT TESTED`

  describe(`A sample in ${language}`, { skip }, () => {
    const request = (id: string, options: object = {}) =>
      createRequest(
        operations.find((operation) => operation.id === id),
        { valuesFor: () => [], body: null, ...options },
      )
    const valuesFor =
      (values: Readonly<Record<string, readonly string[]>>) =>
      ({ name }: { readonly name: string }) =>
        values[name] ?? []

    /** Runs the sample as it is copied. Returns the request that the service got, and the sample's output. */
    async function run(shown: object): Promise<{ readonly got: Seen; readonly output: string }> {
      seen = []
      writeFileSync(join(folder.path, file), SAMPLES[language](shown))
      const { code, stdout, stderr } = await startProcess(command, [...args, file], {
        cwd: folder.path,
        env: { TOKEN: secret },
      }).ended
      assert.equal(code, 0, stderr)
      assert.equal(seen.length, 1, `${stdout}${stderr}`)
      return { got: seen[0] ?? {}, output: stdout }
    }

    test('sends the token, path parameters and a query', async () => {
      const values = valuesFor({ name: [`a/b ${HARD}`], tag: ['a&b', HARD], text: ['1+1=2'] })
      const { got, output } = await run(request('getItemsByName', { valuesFor: values }))
      assert.deepEqual(got, {
        email: 'ana@example.com',
        params: { name: `a/b ${HARD}` },
        query: { tag: ['a&b', HARD], text: '1+1=2' },
      })
      assert.match(output, /received/)
    })

    test('has an example in place of a required parameter that is not entered', async () => {
      const { got } = await run(request('getItemsByName'))
      assert.deepEqual([got.params, got.query], [{ name: 'name' }, { tag: [] }])
    })

    test('sends a body of JSON, whatever it contains', async () => {
      const body = {
        [HARD]: HARD,
        none: null,
        yes: true,
        no: false,
        numbers: [0, -1.5, 1e21],
        nested: [{ a: [] }, {}, [[]]],
        'with-dash': { 0: 'zero', 1: 'one' },
        class: '',
      }
      const { got } = await run(
        request('postItemsByName', {
          valuesFor: valuesFor({ name: ['one'] }),
          body: { text: JSON.stringify(body, null, 2) },
        }),
      )
      assert.deepEqual([got.params, got.body], [{ name: 'one' }, body])

      const text = '{"id":9007199254740993,"x":1e400}'
      const { got: exact } = await run(request('postItemsByName', { body: { text } }))
      assert.equal(exact.text, text)
    })

    test('uploads a file', async () => {
      const name = "it's.csv"
      writeFileSync(join(folder.path, name), BYTES)
      const { got } = await run(
        request('putFilesByName', {
          valuesFor: valuesFor({ name: ['x.csv'] }),
          body: { file: name, type: 'text/csv' },
        }),
      )
      assert.deepEqual(got, { params: { name: 'x.csv' }, bytes: [...BYTES], type: 'text/csv' })
    })

    test('stores a download', async () => {
      await run(request('getReportCsv'))
      assert.deepEqual(readFileSync(join(folder.path, 'report.csv')), BYTES)
      writeFileSync(join(folder.path, 'report.csv'), '')
    })

    test('calls a route without a response body, with the example of a path parameter', async () => {
      const { got } = await run(request('deleteThingsById'))
      assert.deepEqual(got, { params: { id: UUID } })
    })
  })
}

test('A text that is not JSON is sent as it is', () => {
  const request = {
    method: 'POST',
    url: 'http://a',
    hasToken: false,
    body: { text: "{'" },
    response: { kind: 'none' },
  }
  assert.match(SAMPLES.curl(request), /--data-raw '\{'\\'''$/)
  assert.match(SAMPLES.TypeScript(request), /body: '\{\\'',/)
  assert.match(SAMPLES.Python(request), /data="\{'"\.encode\(\)/)
  assert.match(SAMPLES.PHP(request), /'content' => '\{\\''/)
})

test('JSON is parsed unless a number would change', async () => {
  const { parseJson } = await load('literal.js')
  for (const text of [
    '0',
    '-1.50',
    '1E+2',
    '0.1e-7',
    '100',
    '1.0',
    '9007199254740992',
    '5e-324',
    '1e21',
    '0.0',
  ])
    assert.deepEqual(parseJson(text), { value: JSON.parse(text) }, text)
  for (const text of ['9007199254740993', '1e400', '-1e400', '1e-400', '0.12345678901234567890', '-0'])
    assert.equal(parseJson(`{"a":[${text}]}`), null, text)
  const escaped = '{"1e400":"\\"9007199254740993\\\\","b":"1e400"}'
  assert.deepEqual(parseJson(escaped), { value: JSON.parse(escaped) })
})

test('A file is uploaded with its type if the route accepts it', async () => {
  const { uploadType, fileName } = await load('request.js')
  assert.equal(uploadType(['text/csv'], 'application/vnd.ms-excel'), 'text/csv')
  assert.equal(uploadType(['image/*'], 'image/png'), 'image/png')
  assert.equal(uploadType(['image/*'], 'text/plain'), 'application/octet-stream')
  assert.equal(uploadType(['*/*'], 'text/plain'), 'text/plain')
  assert.equal(uploadType(['*/*'], ''), 'application/octet-stream')
  assert.equal(fileName('/api/report.csv?x=1.2', 'text/plain'), 'report.csv')
  assert.equal(fileName('/api/reports', 'text/csv; charset=utf-8'), 'download.csv')
  assert.equal(fileName('/api/logo', 'image/svg+xml'), 'download.svg')
  assert.equal(fileName('/api/report', 'application/vnd.ms-excel'), 'download.bin')
})
