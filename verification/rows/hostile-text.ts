import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryInvalidations } from '../../src/adapters/memory/invalidations.ts'
import { randomIds } from '../../src/adapters/node-crypto/ids.ts'
import { serviceSecrets } from '../../src/adapters/node-crypto/service-secrets.ts'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { systemClock } from '../../src/adapters/system-clock/clock.ts'
import type { Ports } from '../../src/application/ports/ports.ts'
import { createUseCases } from '../../src/application/use-cases/use-cases.ts'
import type { LatchkeyError } from '../../src/domain/errors.ts'
import { aRequester, idlePorts } from '../../tests/support/idle-ports.ts'
import { loginStatus, withApp } from '../app.ts'
import { type Mutant, type Row, Skipped } from '../row.ts'
import { inParallel, randomFrom } from '../wire.ts'

const nulReachesDatabase: Mutant = {
  name: 'a NUL reaches the database',
  file: 'src/domain/text.ts',
  find: 'if (/[\\u0000-\\u001f\\u007f-\\u009f]/.test(text))',
  replace: 'if (false)',
}

/** Malicious input: it gets a 4xx and causes no database error. */
export const hostileRows: readonly Row[] = [
  {
    id: 'D10',
    promise: 'naughty strings as e-mail, password, token and path: 4xx, never 5xx',
    sizes: { ci: 1, release: 3 },
    mutants: [nulReachesDatabase],
    run: (trial) =>
      withApp(trial, {}, async (app) => {
        const file = join(process.env.TEST_DATA ?? '', 'naughty-strings.json')
        if (!existsSync(file)) throw new Skipped('TEST_DATA names no folder with the public test data')
        const strings = [...(JSON.parse(readFileSync(file, 'utf8')) as string[]), 'a\u0000b', '\ud800']
        for (let round = 0; round < trial.size; round++) {
          await inParallel(strings.length, 8, async (i) => {
            const text = strings[i] ?? ''
            for (const [email, password] of [
              [text, 'x'],
              [`a${i}@example.com`, text],
              [`a${text}`, text],
            ] as const) {
              const status = await loginStatus(app, email, password)
              trial.expect(status === 401 || status === 422, () => `${JSON.stringify(text)}: ${status}`)
            }
            const path = await app.call(`/api/${encodeURIComponent(text.toWellFormed())}`)
            trial.expect(path.status === 404, () => `${JSON.stringify(text)} in the path: ${path.status}`)
            const header = Buffer.from(text)
              .toString('latin1')
              .replace(/[^\t\x20-\x7e\x80-\xff]/g, '')
            const token = await app.call('/api/me', { token: `${header}x` })
            trial.expect(token.status === 401, () => `${JSON.stringify(text)} as a token: ${token.status}`)
          })
        }
      }),
  },
  {
    id: 'D12',
    promise: 'hostile input causes no SQL error: the pool drops 0 connections',
    sizes: { ci: 2000, release: 10_000 },
    mutants: [nulReachesDatabase],
    run: (trial) =>
      withApp(trial, {}, async (app) => {
        const { email } = await app.addCustomer()
        const token = await app.login(email)
        const backends = () =>
          app.database.sql<{ pid: number }>(
            `select pid from pg_stat_activity where datname = current_database() and application_name = 'latchkey' order by pid`,
          )
        // Fills the pool first, so that every missing connection afterwards was dropped.
        await inParallel(200, 20, async () => void (await loginStatus(app, 'unknown@example.com', 'x')))
        const before = (await backends()).map(({ pid }) => pid)
        const random = randomFrom(trial.size)
        await inParallel(trial.size, 16, async () => {
          const status = await loginStatus(app, hostile(random), hostile(random))
          trial.expect(status === 401 || status === 422, () => `${status}`)
        })
        const after = new Set((await backends()).map(({ pid }) => pid))
        const dropped = before.filter((pid) => !after.has(pid))
        trial.expect(
          dropped.length === 0,
          () => `${dropped.length} of ${before.length} connections were dropped`,
        )
        trial.expect(
          (await app.call('/api/me', { token })).status === 200,
          () => 'a good token is refused afterwards',
        )
        trial.note(`${before.length} connections before, ${after.size} after`)
      }),
  },
  {
    id: 'F3',
    promise: 'tokens with a wrong checksum cost 0 calls of the store and 0 of the cache',
    sizes: { ci: 100_000, release: 1_000_000 },
    mutants: [
      {
        name: 'the checksum is not compared',
        file: 'src/adapters/node-crypto/token-secrets.ts',
        find: 'computeChecksum(body) === presented.slice(-CHECKSUM_CHARACTERS)',
        replace: 'true',
      },
    ],
    async run(trial) {
      let calls = 0
      const counting = () => {
        calls++
        throw new Error('not to be called')
      }
      const ports = {
        loginTokens: { findByDigest: counting },
        invalidations: memoryInvalidations(),
        ...idlePorts(),
        secrets: tokenSecrets({ prefix: 'lk' }),
        serviceSecrets: serviceSecrets([]),
        clock: systemClock,
        ids: randomIds,
      } as unknown as Ports
      const { authenticate, deadline } = createUseCases(ports, { tokenTtlMs: null, loginLimitAccount: null })
      const { secret } = ports.secrets.issue()
      const random = randomFrom(trial.size)
      const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
      for (let i = 0; i < trial.size; i++) {
        const at = 3 + random(46)
        const other = alphabet[(alphabet.indexOf(secret[at] as string) + 1 + random(61)) % 62]
        let outcome = 'accepted'
        try {
          await authenticate(secret.slice(0, at) + other + secret.slice(at + 1), deadline(), aRequester())
        } catch (error) {
          outcome = (error as LatchkeyError).reason
        }
        trial.expect(outcome === 'invalid_token', () => outcome)
      }
      trial.expect(calls === 0, () => `${calls} calls`)
      trial.note(`${calls} calls of the store behind the check, including the cache`)
    },
  },
]

/** Strings that have broken other programs: look-alikes, controls, surrogates, quotes, markup, paths, formats. */
function hostile(random: (below: number) => number): string {
  const parts = [
    '\u0000',
    '\ud800',
    '\udc00',
    "'",
    '"',
    '\\',
    '%',
    '$1',
    '--',
    '; drop table customers',
    '\u2028',
    '\u202e',
    '\ufeff',
    '\u00a0',
    '\u212a',
    '\u0131',
    '\u017f',
    '💥',
    'é',
    'e\u0301',
    '\n',
    '\r',
    '\t',
    '\u001b[31m',
    '{{7*7}}',
    '../',
    '%00',
    '\u007f',
    '\uffff',
    'a',
    '@',
    '.',
    ' ',
  ]
  return Array.from({ length: 1 + random(12) }, () => parts[random(parts.length)]).join('')
}
