import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type RawResponse, sendRaw } from '../../tests/support/raw-http.ts'
import { PASSWORD, type RunningApp } from '../../tests/support/running-app.ts'
import { withApp } from '../app.ts'
import { type Row, Skipped } from '../row.ts'
import { flawOf, inParallel } from '../wire.ts'

const BODY = 'src/adapters/http/request/body.ts'
const JSON_TEXT = 'src/adapters/http/request/json.ts'
const UTF8 = 'src/adapters/http/request/utf8.ts'
const MEDIA_TYPE = 'src/adapters/http/request/media-type.ts'
const MIB = 1024 * 1024
const JSON_TYPE = 'Content-Type: application/json'
const JSON_MS = 5

/** Returns the response to a login with exactly these bytes as its body. */
async function login(
  app: RunningApp,
  body: Buffer | string,
  type = JSON_TYPE,
): Promise<RawResponse | undefined> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const pieces = [loginHead(bytes.length, type), bytes]
  return (await sendRaw(app.port, pieces, { responses: 1, quietMs: 4000 })).responses[0]
}

function loginHead(bytes: number, type = JSON_TYPE): string {
  return `POST /api/login HTTP/1.1\r\nHost: a\r\n${type}\r\nContent-Length: ${bytes}\r\n\r\n`
}

export const bodyRows: readonly Row[] = [
  {
    id: 'B10',
    promise: '10 MiB streamed at the body limit: 413, readable by the client that sends it',
    sizes: { ci: 20, release: 1000 },
    mutants: [
      {
        name: 'the connection closes with unread bytes',
        file: 'src/adapters/http/response/response.ts',
        find: '!exchange.isWhole && closes && !request.destroyed',
        replace: 'false',
      },
      {
        name: 'no limit while the body arrives',
        file: BODY,
        find: 'if (bytes <= bodyLimitBytes) {',
        replace: 'if (true) {',
      },
    ],
    run: (trial) =>
      withApp(trial, {}, async (app) => {
        const piece = Buffer.alloc(MIB, 32)
        globalThis.gc?.()
        const before = process.memoryUsage().rss
        await inParallel(trial.size, 4, async (i) => {
          const status = await streamed(app.port, piece, i % 2 === 0)
          trial.expect(status === 413, () => `the client read ${status}`)
        })
        trial.note(
          `resident memory ${((process.memoryUsage().rss - before) / MIB).toFixed(0)} MiB more, for ${trial.size * 10} MiB sent`,
        )
      }),
  },
  {
    id: 'C3',
    promise: 'media types: read only where the contract says, never read without validation',
    sizes: { ci: 1, release: 10 },
    mutants: [
      {
        name: 'any charset is accepted',
        file: MEDIA_TYPE,
        find: "charset === null || charset === 'utf-8'",
        replace: 'true',
      },
      {
        name: 'of two lines the last counts',
        file: MEDIA_TYPE,
        find: 'head.contentTypes !== 1 || !isJsonInUtf8(',
        replace: '!isJsonInUtf8(',
      },
      {
        name: 'any coding is accepted',
        file: MEDIA_TYPE,
        find: "coding !== undefined && coding.toLowerCase() !== 'identity'",
        replace: 'false',
      },
    ],
    run: (trial) =>
      withApp(trial, {}, async (app) => {
        const { email } = await app.addCustomer({ email: 'ana@example.com' })
        const read = [
          'application/json',
          'Application/JSON',
          'application/json; charset=utf-8',
          'application/json;charset=UTF-8',
          'application/json; Charset="Utf-8"',
          'application/json\t; charset=utf-8',
          'application/json ; version=1',
          'application/json;',
          'application/json; charset=utf-8;',
        ]
        const refused = [
          'application/jsonx',
          'application/json-patch+json',
          'application/ld+json',
          'text/json',
          'text/plain',
          'application/x-www-form-urlencoded',
          'multipart/form-data; boundary=x',
          'application/json, application/json',
          'application/json, text/plain',
          'application/json; charset=utf-16',
          'application/json; charset=iso-8859-1',
          'application/json; charset=utf8',
          'application/json; charset=',
          'application/json; charset=utf-8; charset=utf-16',
          'application/json charset=utf-8',
          '*/*',
          'json',
          '',
        ]
        const body = JSON.stringify({ email, password: PASSWORD })
        for (let round = 0; round < trial.size; round++) {
          const lines = [
            ...read.map((type) => [`Content-Type: ${type}`, 200] as const),
            ...refused.map((type) => [`Content-Type: ${type}`, 415] as const),
            ['X-None: a', 415] as const,
            ['Content-Type: application/json\r\nContent-Type: application/json', 415] as const,
            ['Content-Type: application/json\r\nContent-Type: text/plain', 415] as const,
            ...['gzip', 'br', 'utf-8', 'identity, gzip', 'gzip, identity'].map(
              (coding) => [`Content-Type: application/json\r\nContent-Encoding: ${coding}`, 415] as const,
            ),
            ['Content-Type: application/json\r\nContent-Encoding: Identity', 200] as const,
          ]
          for (const [type, status] of lines) {
            const response = await login(app, body, type)
            trial.expect(
              response?.status === status && flawOf(response) === null,
              () => `${JSON.stringify(type)}: ${response?.status}, not ${status}`,
            )
            const wrong = await login(app, '{"email":7}', type)
            trial.expect(
              wrong?.status === (status === 200 ? 422 : status),
              () => `${JSON.stringify(type)}, wrong shape: ${wrong?.status}`,
            )
          }
        }
      }),
  },
  {
    id: 'D7',
    promise: 'fields of the wrong kind are 422; other keys are ignored; no prototype changes',
    sizes: { ci: 1, release: 10 },
    mutants: [
      {
        name: 'a password is converted to a string',
        file: 'src/adapters/http/routes/built-in-routes.ts',
        find: 'password: text(presentedPasswordProblem)',
        replace: 'password: v.pipe(v.unknown(), v.transform(String), text(presentedPasswordProblem))',
      },
    ],
    run: (trial) =>
      withApp(trial, {}, async (app) => {
        const { email } = await app.addCustomer({ email: 'ana@example.com' })
        const kinds = [
          'null',
          '7',
          'true',
          '[]',
          '{}',
          '["ana@example.com"]',
          '{"$ne":null}',
          '{"toString":"x"}',
        ]
        const good = `"password":"${PASSWORD}","email":"${email}"`
        const cases: [body: string, status: number][] = [
          ...kinds.flatMap((kind): [string, number][] => [
            [`{"email":${kind},"password":"x"}`, 422],
            [`{"email":"${email}","password":${kind}}`, 422],
            [kind, 422],
          ]),
          [`{"email":"${email}"}`, 422],
          [`{"__proto__":{${good}}}`, 422],
          [`{"constructor":{"prototype":{${good}}}}`, 422],
          [`{${good},"__proto__":{"abilities":["*"],"email":"eve@example.com"}}`, 200],
          [`{${good},"constructor":{"prototype":{"abilities":["*"]}}}`, 200],
          [`{${good},"abilities":["*"],"id":"x","extra":{"deep":[1]}}`, 200],
          [`{"email":"x","email":"${email}","password":"x","password":"${PASSWORD}"}`, 200],
          [`{${good},"password":"x"}`, 401],
          [`\ufeff{${good}}`, 200],
        ]
        for (let round = 0; round < trial.size; round++) {
          for (const [body, status] of cases) {
            const response = await login(app, body)
            trial.expect(
              response?.status === status && flawOf(response) === null,
              () => `${body}: ${response?.status}, not ${status}`,
            )
            trial.expect(!('abilities' in {}) && !('email' in {}), () => `${body}: a prototype changed`)
          }
        }
      }),
  },
  {
    id: 'D8',
    promise: 'JSONTestSuite through login: y_ 422, n_ 400 (two 413), i_ by the written table',
    sizes: { ci: 1, release: 1 },
    mutants: [
      {
        name: 'lossy decoding of UTF-8',
        file: UTF8,
        find: '{ fatal: true }',
        replace: '{ fatal: false }',
      },
      {
        name: 'a broken body counts as an empty one',
        file: JSON_TEXT,
        find: 'throw new InvalidJson()\n  }\n}',
        replace: 'return {}\n  }\n}',
      },
    ],
    run: (trial) =>
      withApp(trial, {}, async (app) => {
        const folder = join(process.env.TEST_DATA ?? '', 'json-test-suite/test_parsing')
        if (!existsSync(folder)) throw new Skipped('TEST_DATA names no folder with the public test data')
        for (const file of readdirSync(folder).sort()) {
          const body = readFileSync(join(folder, file))
          const status = statusOfSuite(file, body.length)
          const response = await login(app, body)
          trial.expect(
            response?.status === status && flawOf(response) === null,
            () => `${file}: ${response?.status}, not ${status}`,
          )
        }
      }),
  },
  {
    id: 'D9',
    promise: 'deep and wide JSON is 400 or 422, in little time',
    sizes: { ci: 20, release: 200 },
    mutants: [
      {
        name: 'the whole depth is visited',
        file: JSON_TEXT,
        find: 'return levels === 0 ||',
        replace: 'return (levels === 0 && false) ||',
      },
    ],
    // A body of 100,000 digits exceeds the default limit.
    run: (trial) =>
      withApp(trial, { env: { BODY_LIMIT: '131072' } }, async (app) => {
        const wide = `{${Array.from({ length: 5000 }, (_, i) => `"k${i}":0`).join(',')}}`
        const cases: Readonly<Record<string, readonly [body: string, status: number, ms?: number]>> = {
          'open brackets': ['['.repeat(16_384), 400],
          'open objects': ['{"a":'.repeat(10_000), 400],
          'nested lists': ['['.repeat(8192) + ']'.repeat(8192), 422],
          'four times as many': ['['.repeat(32_000) + ']'.repeat(32_000), 422, 4 * JSON_MS],
          'nested objects': [`${'{"email":'.repeat(6000)}1${'}'.repeat(6000)}`, 422],
          'five thousand keys': [wide, 422],
          'a hundred thousand digits': ['1'.repeat(100_000), 422],
          'a long exponent': [`1e${'9'.repeat(60_000)}`, 422],
          'a long string of escapes': [`"${'\\u0041'.repeat(10_000)}"`, 422],
        }
        await withClient(async (ask) => {
          for (const [name, [body, status, ms = JSON_MS]] of Object.entries(cases)) {
            await ask({ port: app.port, bytes: loginHead(body.length) + body })
            const times: number[] = []
            for (let round = 0; round < trial.size; round++) {
              const before = process.cpuUsage()
              const response = (await ask(null)) as RawResponse | undefined
              const { user, system } = process.cpuUsage(before)
              times.push((user + system) / 1000)
              trial.expect(
                response?.status === status && flawOf(response) === null,
                () => `${name}: ${response?.status}, not ${status}`,
              )
            }
            const median = times.sort((a, b) => a - b)[times.length >> 1] ?? 0
            trial.note(`${name}: ${median.toFixed(1)} ms of the server's processor time (median)`)
            trial.require(!trial.judgesTimes || median <= ms, () => `${name}: ${median} ms`)
          }
        })
      }),
  },
]

/** The suite leaves these cases to implementations. Text that is not UTF-8 or not JSON gets a 400 here. */
const DECIDED: Readonly<Record<string, number>> = {
  'i_object_key_lone_2nd_surrogate.json': 422,
  'i_string_1st_surrogate_but_2nd_missing.json': 422,
  'i_string_1st_valid_surrogate_2nd_invalid.json': 422,
  'i_string_incomplete_surrogate_and_escape_valid.json': 422,
  'i_string_incomplete_surrogate_pair.json': 422,
  'i_string_incomplete_surrogates_escape_valid.json': 422,
  'i_string_invalid_lonely_surrogate.json': 422,
  'i_string_invalid_surrogate.json': 422,
  'i_string_inverted_surrogates_U+1D11E.json': 422,
  'i_string_lone_second_surrogate.json': 422,
  'i_structure_500_nested_arrays.json': 422,
  'i_structure_UTF-8_BOM_empty_object.json': 422,
}

function statusOfSuite(file: string, bytes: number): number {
  if (bytes > 65_536) return 413
  if (file.startsWith('y_') || file.startsWith('i_number_')) return 422
  return DECIDED[file] ?? 400
}

/** Starts a client in a separate process, which handles one request at a time. */
async function withClient(
  use: (ask: (request: object | null) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const client = fork(join(import.meta.dirname, '../fixtures/client.ts'), { execArgv: ['--import', 'tsx'] })
  try {
    await use(async (request) => {
      client.send(request as object)
      const [reply] = await once(client, 'message')
      return reply
    })
  } finally {
    client.kill()
    await once(client, 'close')
  }
}

/** Sends ten pieces before it reads, like a simple client. Returns the status that it received. */
function streamed(port: number, piece: Buffer, withLength: boolean): Promise<number | null> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1').pause()
    let received = ''
    socket.on('data', (bytes) => {
      received += bytes
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(received === '' ? null : Number(received.split(' ')[1])))
    // Adding a listener has started the flow.
    socket.pause()
    const framing = withLength ? `Content-Length: ${10 * piece.length}` : 'Transfer-Encoding: chunked'
    const chunk = withLength
      ? piece
      : Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
    socket.write(
      `POST /api/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`,
    )
    let left = 10
    next()

    function next(error?: Error | null): void {
      if (error) return
      if (left-- > 0) socket.write(chunk, next)
      else socket.end(withLength ? '' : '0\r\n\r\n', () => socket.resume())
    }
  })
}
