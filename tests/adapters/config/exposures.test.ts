import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findExposures, findInexactVerifiers, findUnaudited } from '../../../src/adapters/config/exposures.ts'
import { read } from './reading.ts'

const exposures = (env: Record<string, string>) =>
  findExposures(read(env).configuration).map(({ name }) => name)

test('a service in production that other machines reach without TLS is reported', () => {
  const env = { NODE_ENV: 'production', HOST: '0.0.0.0' }
  assert.deepEqual(exposures(env), ['HOST'])
  assert.deepEqual(exposures({ ...env, PUBLIC_URL: 'http://a.example' }), ['HOST'])
  assert.deepEqual(exposures({ ...env, PUBLIC_URL: 'https://a.example' }), [])
  assert.deepEqual(exposures({ ...env, HOST: '127.0.0.1' }), [])
  assert.deepEqual(exposures({ HOST: '0.0.0.0' }), [])
})

test('a connection without TLS to a database on another machine is reported', () => {
  for (const url of [
    'postgres://u@db.example/x',
    'postgres://u@10.0.0.1/x?sslmode=disable',
    'postgres://u@localhost/x?host=db',
  ])
    assert.deepEqual(exposures({ DATABASE_URL: url }), ['DATABASE_URL'], url)
  const direct = {
    DATABASE_URL: 'postgres://u@localhost/x',
    DATABASE_DIRECT_URL: 'postgres://u@db.example/x',
  }
  assert.deepEqual(exposures(direct), ['DATABASE_DIRECT_URL'])
  for (const url of [
    'postgres://u@localhost/x',
    'postgres://u@127.0.0.2/x',
    'postgres://u@[::1]/x',
    'postgres://u@h/x?host=/run',
    'postgres://u@%2Frun%2Fpg/x',
    'postgres://u@db/x?sslmode=verify-full',
  ])
    assert.deepEqual(exposures({ DATABASE_URL: url }), [], url)
})

test('commands that leave no audit events are reported in production', () => {
  const unaudited = (env: Record<string, string>) =>
    findUnaudited(read(env).configuration).map(({ name }) => name)
  assert.deepEqual(unaudited({ NODE_ENV: 'production' }), ['AUDIT_LOG'])
  assert.deepEqual(unaudited({ NODE_ENV: 'production', AUDIT_LOG: 'audit.jsonl' }), [])
  assert.deepEqual(unaudited({}), [])
})

test('verifiers are reported when no logout waits for them', () => {
  const inexact = (env: Record<string, string>) =>
    findInexactVerifiers(read(env).configuration).map(({ name }) => name)
  const SERVICE_TOKENS = 'billing[verify]=u4mTq9xWk2LrZ7vBn8sYc3dF6gHjP1aE'
  assert.deepEqual(inexact({ SERVICE_TOKENS, REVOCATION: 'prompt' }), ['REVOCATION'])
  assert.deepEqual(inexact({ SERVICE_TOKENS }), [])
  assert.deepEqual(inexact({ REVOCATION: 'prompt' }), [])
})
