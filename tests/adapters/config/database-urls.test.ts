import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'
import { surveyConfiguration } from '../../../src/adapters/config/survey.ts'
import { problemsOf, read, toRefusal } from './reading.ts'

/** In each URL a part of the password, `canary`, is outside of the password that a URL parser finds. */
const CUT_SHORT = [
  'postgres://app:2024#canary@db/x',
  'postgres://app:12/34canary@db/x',
  'postgres://app:99?canary@db/x',
  'postgres://app:99?host=canary@db/x',
  'postgres://canary#2024@db/x',
  'postgres://canary/2024@db/x',
  'postgres://app:pass@canary/2024@db/x',
  'postgres://app:pass@canary?2024@db/x',
  'postgres://app:pass@canary#2024@db/x',
  'postgres://db/x#canary',
  'postgres://app:pass@db/x?sslmode=disable#canary',
  'postgres://app:pass@db/x?application_name=canary@here',
  'postgres:canary?host=db',
  'postgres:/app:canary@db/x',
  'postgres:///app:canary@db/x?host=db',
  'postgres:////app:canary@db/x?host=db',
  'postgres://app%3Acanary@db/x',
  'postgres://app%3acanary%40db/x',
]

describe('A database URL', () => {
  for (const url of CUT_SHORT)
    test(`is rejected, and not shown, when it is ${url}`, () => {
      const refusal = toRefusal({ DATABASE_URL: url })
      assert.deepEqual(
        refusal.problems.map(({ name }) => name),
        ['DATABASE_URL'],
      )
      assert.match(refusal.message, /%XX|percent-encoded/)
      for (const sources of [
        { env: { DATABASE_URL: url }, dotEnv: null },
        { env: { DATABASE_URL: 'postgres://db/x', DATABASE_DIRECT_URL: url }, dotEnv: null },
        { env: { DATABASE_URL_FILE: 'f' }, dotEnv: null, readFile: () => Buffer.from(`${url}\n`) },
        { env: {}, dotEnv: `DATABASE_URL=${url}` },
        { env: {}, dotEnv: `DATABASE_URL='${url}'` },
        { env: {}, dotEnv: url },
      ]) {
        const survey = surveyConfiguration(sources)
        assert.ok(survey.problems.length > 0)
        assert.doesNotMatch(inspect(survey, { depth: null }), /canary|2024|34|99/)
      }
    })

  for (const url of [
    'postgres://app:2024%23canary%2F%3F%40@db:5432/x?application_name=a%40b&sslmode=verify-full',
    'postgres://app@tenant:can@ary@db/x',
    'postgres://app:c:a[n]a$ry&\\@db/x',
    'postgresql://app:canary@%2Frun%2Fpg/x?port=5433',
  ])
    test(`is accepted, and shown without its password, when it is ${url}`, () => {
      assert.equal(read({ DATABASE_URL: url }).configuration.databaseUrl, url)
      const { settings } = surveyConfiguration({ env: { DATABASE_URL: url }, dotEnv: null })
      const shown = String(settings.find(({ name }) => name === 'DATABASE_URL')?.value)
      assert.match(shown, /^postgres(ql)?:\/\/app.*:\*\*\*@(db|%2Frun)/)
      assert.doesNotMatch(shown, /can|ary|2024/)
    })

  for (const [query, sentence] of [
    ['port=abc', /port/],
    ['port=0', /port/],
    ['port=65536', /port/],
    ['port=', /port/],
    ['sslmode=disable&sslmode=verify-full', /twice/],
    ['host=a,b', /one host only/],
    ['host=a%2Cb', /one host only/],
    ['sslrootcert=/does/not/exist', /sslrootcert .* does not exist/],
    ['sslcert=/does/not/exist', /sslcert /],
    ['sslkey=/does/not/exist', /sslkey /],
    ['application_name=100%', /%XX/],
    ['application_name=%zz', /%XX/],
  ] as const)
    test(`is rejected with ?${query}`, () => {
      const problems = problemsOf({ DATABASE_URL: `postgres://app:canary@db/x?${query}` })
      assert.equal(problems.length, 1)
      assert.match(problems[0]?.problem ?? '', sentence)
    })
})

test('A database URL with several hosts is rejected in each form', () => {
  for (const hosts of ['a,b', 'a%2Cb', 'a:5432,b:5432', 'a:1,b', 'u:p@a,b', 'u:p,q@a:1,b:2']) {
    const [problem] = problemsOf({ DATABASE_URL: `postgres://${hosts}/x` })
    assert.equal(problem?.problem, 'Names several hosts; give one host only.', hosts)
  }
  for (const url of [
    'postgres://u:p,q@a/x',
    'postgres://u@h/x?host=/run/a,b',
    'postgres://u@%2Frun%2Fa%2Cb/x',
    'postgres://u@h/x?sslrootcert=system',
  ])
    assert.equal(read({ DATABASE_URL: url }).configuration.databaseUrl, url)
})

test('PUBLIC_URL is rejected, and not shown, when it may contain a password', () => {
  for (const url of ['https://app:canary@a', 'https://app:12/canary@a', 'https://a/x@canary']) {
    const survey = surveyConfiguration({ env: { PUBLIC_URL: url }, dotEnv: null })
    assert.deepEqual(
      survey.problems.map(({ name }) => name),
      ['PUBLIC_URL'],
    )
    assert.doesNotMatch(inspect(survey, { depth: null }), /canary/)
  }
})
