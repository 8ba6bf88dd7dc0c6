import { setTimeout as sleep } from 'node:timers/promises'
import { route } from '../../src/adapters/http/routing/route.ts'
import { sendRaw } from '../../tests/support/raw-http.ts'
import type { RunningApp } from '../../tests/support/running-app.ts'
import { withApp } from '../app.ts'
import { GOOD, MALFORMED } from '../payloads.ts'
import type { Mutant, Row, Trial } from '../row.ts'
import { expectResponses, inParallel, randomFrom } from '../wire.ts'

const GATE = 'src/adapters/http/server/request-checks.ts'
const CONNECTIONS = 'src/adapters/http/server/connections.ts'

async function withCountingApp(
  trial: Trial,
  use: (app: RunningApp, handled: () => number) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  let handled = 0
  const routes = () => [route('POST /count', { auth: 'none', handle: () => ({ handled: ++handled }) })]
  await withApp(trial, { env, routes }, (app) => use(app, () => handled))
}

const mutants: Readonly<Record<string, Mutant>> = {
  hosts: { name: 'a second Host line is allowed', file: GATE, find: 'hosts > 1 || ', replace: '' },
  host: {
    name: 'any Host is allowed',
    file: GATE,
    find: '!HOST.test(host)',
    replace: 'false',
  },
  version: {
    name: 'any HTTP version is allowed',
    file: GATE,
    find: "httpVersion !== '1.1' && httpVersion !== '1.0'",
    replace: 'false',
  },
  coding: {
    name: 'any coding is allowed',
    file: GATE,
    find: "httpVersion === '1.0' || transferEncoding.toLowerCase() !== 'chunked'",
    replace: 'false',
  },
  authorization: {
    name: 'of two Authorization lines the first counts',
    file: GATE,
    find: 'if (head.authorizations > 1) return malformed()',
    replace: '',
  },
  fragment: {
    name: 'a fragment is allowed',
    file: GATE,
    find: "if (url.includes('#')) return malformed()",
    replace: '',
  },
  connect: {
    name: 'CONNECT has no listener',
    file: 'src/adapters/http/server/server.ts',
    find: "server.on('connect', ",
    replace: "server.on('never', ",
  },
}

export const framingRows: readonly Row[] = [
  {
    id: 'B1',
    promise: 'invalid framing is refused: 400 in the envelope, connection closed, no handler ran',
    sizes: { ci: 2, release: 20 },
    mutants: Object.values(mutants),
    run: (trial) =>
      withCountingApp(trial, async (app, handled) => {
        const payloads = Object.entries(MALFORMED)
        await inParallel(trial.size * payloads.length, 8, async (i) => {
          const [name, bytes] = payloads[i % payloads.length] as [string, string]
          // Whole and in two pieces: the boundary between them must not matter.
          const cut = 1 + ((i * 7) % (bytes.length - 1))
          const pieces = i < payloads.length ? bytes : [bytes.slice(0, cut), 5, bytes.slice(cut)]
          expectResponses(trial, name, await sendRaw(app.port, pieces, { quietMs: 4000 }), [400])
        })
        trial.expect(handled() === 0, () => `${handled()} handlers ran`)
      }),
  },
  {
    id: 'B2',
    promise: 'a canary request behind any payload on one socket gets no response or exactly one',
    sizes: { ci: 1000, release: 10_000 },
    mutants: [
      {
        name: 'requests after one that closes are served',
        file: CONNECTIONS,
        find: 'for (const exchange of connection.waiting) if',
        replace: 'connection.waiting.forEach(dispatch)\n    for (const exchange of connection.waiting) if',
      },
      {
        name: 'the response to a parser error overtakes earlier responses',
        file: CONNECTIONS,
        find: 'connection.open.length > 0 || ',
        replace: '',
      },
      mutants.coding as Mutant,
    ],
    run: (trial) =>
      withCountingApp(trial, async (app, handled) => {
        const random = randomFrom(trial.size)
        const canary =
          'POST /api/count HTTP/1.1\r\nHost: canary\r\nX-Request-Id: canary\r\nContent-Length: 0\r\n\r\n'
        const bad = Object.entries(MALFORMED)
        const good = Object.entries(GOOD)
        let expected = 0
        await inParallel(trial.size, 16, async () => {
          const isGood = random(2) === 0
          const list = isGood ? good : bad
          const [name, payload] = list[random(list.length)] as [string, string]
          const before = random(2) === 0 ? 'POST /api/count HTTP/1.1\r\nHost: a\r\n\r\n' : ''
          const statuses = [...(before === '' ? [] : [200]), ...(isGood ? [200, 200] : [400])]
          expected += statuses.filter((status) => status === 200).length
          const bytes = before + payload + canary
          const cut = random(bytes.length)
          const pieces = random(2) === 0 ? [bytes] : [bytes.slice(0, cut), 1, bytes.slice(cut)]
          const seen = await sendRaw(app.port, pieces, {
            responses: isGood ? statuses.length : Infinity,
            quietMs: 4000,
          })
          expectResponses(trial, name, seen, statuses)
          const canaries = seen.responses.filter(({ headers }) =>
            headers.some(([, value]) => value === 'canary'),
          ).length
          trial.expect(canaries === (isGood ? 1 : 0), () => `${name}: the canary got ${canaries} responses`)
        })
        trial.expect(handled() === expected, () => `${handled()} handlers ran, not ${expected}`)
      }),
  },
  {
    id: 'B4',
    promise: 'mutations of valid requests: no 5xx, none hangs, memory does not grow',
    sizes: { ci: 10_000, release: 100_000, mutant: 300 },
    mutants: [
      {
        name: 'an undecodable escape counts as a bug',
        file: 'src/adapters/http/routing/router.ts',
        find: 'return decodeURIComponent(text)\n  } catch {',
        replace: 'return decodeURIComponent(text)\n  } catch (error) {\n    throw error',
      },
      {
        name: 'a slow head has no time limit',
        file: 'src/adapters/http/server/server.ts',
        find: 'connectionsCheckingInterval: SWEEP_MS',
        replace: 'connectionsCheckingInterval: 60_000',
      },
    ],
    run: (trial) =>
      withCountingApp(
        trial,
        async (app) => {
          const { email } = await app.addCustomer()
          const token = await app.login(email)
          const body = JSON.stringify({ email: 'unknown@example.com', password: 'x' })
          const seeds = [
            ...Object.values(GOOD),
            `POST /api/me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`,
            `POST /api/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
            'GET /api/status?a=%20b HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n\r\n',
            'GET /api/%41/%zz HTTP/1.1\r\nHost: a\r\n\r\n',
          ]
          const random = randomFrom(trial.size)
          globalThis.gc?.()
          const heapBefore = process.memoryUsage().heapUsed
          let slowestMs = 0
          await inParallel(trial.size, 256, async () => {
            const bytes = mutatedBytes(seeds[random(seeds.length)] ?? '', random)
            const beganMs = performance.now()
            const seen = await sendRaw(app.port, bytes, { responses: 1, quietMs: 5000 })
            slowestMs = Math.max(slowestMs, performance.now() - beganMs)
            const failed = seen.responses.find(({ status }) => status >= 500)
            trial.expect(failed === undefined, () => `${JSON.stringify(bytes)}: ${failed?.status}`)
            trial.expect(
              seen.responses.length > 0 || seen.closed,
              () => `${JSON.stringify(bytes)}: neither a response nor a closed connection`,
            )
          })
          await sleep(500)
          globalThis.gc?.()
          const grownMiB = (process.memoryUsage().heapUsed - heapBefore) / 1_048_576
          trial.note(
            `heap ${grownMiB.toFixed(1)} MiB more, slowest ${Math.round(slowestMs)} ms at a time-out of 1 s`,
          )
          trial.expect(grownMiB <= 20, () => `the heap grew by ${grownMiB.toFixed(1)} MiB`)
        },
        { HEADERS_TIMEOUT: '1s', REQUEST_TIMEOUT: '1s' },
      ),
  },
  {
    id: 'B5',
    promise: 'up to 100 header lines work, more get 431, none is dropped silently',
    sizes: { ci: 10, release: 100, mutant: 1 },
    mutants: [
      {
        name: 'any number of lines is read',
        file: GATE,
        find: 'rawHeaders.length > MAX_HEADER_LINES * 2',
        replace: 'false',
      },
      {
        name: 'Node drops lines beyond its own limit',
        file: 'src/adapters/http/server/server.ts',
        find: 'server.maxHeadersCount = 0',
        replace: 'server.maxHeadersCount = 50',
      },
    ],
    run: (trial) =>
      withCountingApp(trial, async (app) => {
        const { email } = await app.addCustomer()
        const token = await app.login(email)
        for (let round = 0; round < trial.size; round++) {
          for (const [lines, status] of [
            [99, 200],
            [100, 200],
            [101, 431],
            [1000, 431],
            [2100, 431],
          ] as const) {
            for (const place of ['first', 'last']) {
              const list = Array.from({ length: lines - 2 }, (_, i) => `a${i}: `)
              const authorization = `Authorization: Bearer ${token}`
              const all = place === 'first' ? [authorization, ...list] : [...list, authorization]
              const bytes = `POST /api/me HTTP/1.1\r\nHost: a\r\n${all.join('\r\n')}\r\n\r\n`
              const seen = await sendRaw(app.port, bytes, { responses: status === 200 ? 1 : Infinity })
              expectResponses(trial, `${lines} lines, Authorization ${place}`, seen, [status])
            }
          }
        }
      }),
  },
]

function mutatedBytes(seed: string, random: (below: number) => number): string {
  let bytes = seed
  for (let changes = 1 + random(4); changes > 0; changes--) {
    const at = random(bytes.length + 1)
    const kind = random(5)
    const piece =
      [
        '\r\n',
        '\0',
        ' ',
        ':',
        '%',
        '\xff',
        '{',
        '0',
        'Content-Length: 5\r\n',
        'Expect: 100-continue\r\n',
        'HTTP/1.1',
        '\t',
        '\r',
        '\n',
      ][random(14)] ?? ''
    if (kind === 0) bytes = bytes.slice(0, at) + String.fromCharCode(random(256)) + bytes.slice(at + 1)
    else if (kind === 1) bytes = bytes.slice(0, at) + bytes.slice(at + 1 + random(8))
    else if (kind === 2) bytes = bytes.slice(0, at) + piece + bytes.slice(at)
    else if (kind === 3) bytes = bytes.slice(0, at) + bytes.slice(at, at + random(30)) + bytes.slice(at)
    else bytes = bytes.slice(0, at || 1)
  }
  return bytes
}
