import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { callAt } from '../../src/testing/call.ts'
import { EMAIL, PASSWORD, programSuite } from '../support/program-suite.ts'
import { SERVICE_SECRET } from '../support/running-app.ts'
import { runLatchkey, startLatchkey } from '../support/running-process.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

const TOKENS = 20_000

// PostgreSQL only: the triggers that slow it down use its procedural language.
describe('token revoke --issued-before', { skip: postgresAlone }, () => {
  const suite = programSuite()
  const args = ['token', 'revoke', '--issued-before', '1h']
  const revokedRows = async () => {
    const rows = await suite.database().sql('select from login_tokens where revoked_at is not null')
    return rows.length
  }

  test('evicts tokens from caches although no trigger published them, as after a restore', async () => {
    const { service, url } = await suite.start({
      TOKEN_CACHE_TTL: '300s',
      SERVICE_TOKENS: `tests=${SERVICE_SECRET}`,
    })
    const { token } = (await callAt(url, '/api/login', { body: { email: EMAIL, password: PASSWORD } })).body
    const status = async () => (await callAt(url, '/api/me', { token })).status
    const readiness = () => callAt(url, '/readyz', { method: 'GET', token: SERVICE_SECRET })
    await until(async () => (await readiness()).body.checks.invalidations === 'ok')
    assert.equal(await status(), 200)
    await suite.database().sql(`
      begin;
      alter table login_tokens disable trigger announce_delete;
      delete from login_tokens where name = 'login';
      alter table login_tokens enable always trigger announce_delete;
      commit`)
    const options = { cwd: suite.folder(), env: suite.database().env }
    assert.equal((await runLatchkey(args, options)).code, 0)
    assert.equal(await status(), 401)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
  })

  test('reports and records its partial result at a signal, and the next run finishes', async () => {
    const { database, folder } = suite
    await database().sql(
      `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
       select gen_random_uuid(), id, 'bot', sha256(convert_to('many ' || n, 'UTF8')), '{}', now() - interval '1 day'
         from customers, generate_series(1, $1::int) as n`,
      [TOKENS],
    )
    // The duration of a step, so that the signals arrive between the first and the last step.
    await database().sql(`
      create function slow() returns trigger language plpgsql as $$
        begin perform pg_sleep(0.1); return null; end $$;
      create trigger slow before update on login_tokens for each statement execute function slow()`)
    const auditLog = join(folder(), 'audit.log')
    const options = { cwd: folder(), env: { ...database().env, AUDIT_LOG: auditLog } }
    const reported: number[] = []
    for (const [signal, after] of [
      ['SIGINT', 2000],
      ['SIGTERM', 8000],
    ] as const) {
      const command = startLatchkey(args, options)
      await until(async () => (await revokedRows()) >= after)
      command.child.kill(signal)
      const { code, stdout, stderr } = await command.ended
      assert.deepEqual([code, stdout], [1, ''])
      const [, count = ''] =
        /^latchkey: Revoked ([\d,]+) tokens; interrupted\. Run it again to finish\.\n$/.exec(stderr) ?? []
      reported.push(Number(count.replaceAll(',', '')))
      const inAll = reported.reduce((sum, each) => sum + each)
      assert.equal(await revokedRows(), inAll, stderr)
      assert.ok(inAll >= after && inAll < TOKENS)
    }
    const { code, stdout } = await runLatchkey(args, options)
    const [first = 0, second = 0] = reported
    const left = TOKENS - first - second
    assert.deepEqual(
      [code, stdout],
      [0, `Revoked ${left.toLocaleString('en')} tokens of all customers, on every instance.\n`],
    )
    assert.equal(await revokedRows(), TOKENS)
    const events = readFileSync(auditLog, 'utf8').trimEnd().split('\n')
    assert.deepEqual(
      events.map((line) => JSON.parse(line)).map(({ event, reason, count }) => [event, reason, count]),
      [first, second, left].map((count) => ['token.revoked', 'issued_before', count]),
    )
  })
})
