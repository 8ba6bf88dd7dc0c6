import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { openAuditLog } from '../../../src/adapters/pino/audit-log.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { auditLogContract } from '../../../src/testing/contracts/audit-log.ts'
import { HOSTILE } from '../../support/hostile-text.ts'

const MODULE = join(import.meta.dirname, '../../../src/adapters/pino/audit-log.ts')
const folder = mkdtempSync(join(tmpdir(), 'latchkey-audit-'))
after(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const newPath = () => join(folder, `audit-${++files}.jsonl`)
const linesOf = (path: string) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

function recordedElsewhere() {
  const lines: string[] = []
  return { lines, audit: openAuditLog({ path: null, elsewhere: { write: (line) => void lines.push(line) } }) }
}

/** The fields of a line under the names that `record` received. */
function camelCased(fields: Readonly<Record<string, unknown>>) {
  const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [camelCase(name), value]))
}

auditLogContract('pino', () => {
  const path = newPath()
  const audit = openAuditLog({ path })
  return {
    audit,
    read: () =>
      linesOf(path).map(({ level, audit, time, event, ...fields }) => ({ event, ...camelCased(fields) })),
    disconnect: audit.close,
  }
})

describe('A line of the audit log', () => {
  it('is one JSON object with its mark, an ISO time, the event and its fields', () => {
    const { lines, audit } = recordedElsewhere()
    audit.record('login.succeeded', {
      requestId: 'r1',
      address: '192.0.2.7',
      customerId: 'c1',
      tokenId: 't1',
    })
    const { time, ...rest } = JSON.parse(lines[0] ?? '')
    const fields = { request_id: 'r1', address: '192.0.2.7', customer_id: 'c1', token_id: 't1' }
    assert.deepEqual(rest, { level: 'info', audit: true, event: 'login.succeeded', ...fields })
    assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000)
    assert.match(lines[0] ?? '', /^\{.*\}\n$/)
    assert.equal(lines.length, 1)
  })

  it('contains the allowed fields of its event and no others', () => {
    const { lines, audit } = recordedElsewhere()
    const more = { email: 'canary', password: 'canary', tokenId: 'canary', time: 'canary', audit: false }
    audit.record('login.failed', { ...more, customerId: null, reason: 'unknown' })
    const { time, ...rest } = JSON.parse(lines[0] ?? '')
    assert.deepEqual(rest, {
      level: 'info',
      audit: true,
      event: 'login.failed',
      customer_id: null,
      reason: 'unknown',
    })
  })

  it('is one line of printable characters for any field', () => {
    for (const text of HOSTILE.flatMap((hostile) => [hostile, `a${hostile}b`])) {
      const { lines, audit } = recordedElsewhere()
      audit.record('token.issued', { address: text, tokenName: text, abilities: [text] })
      assert.equal(lines.length, 1)
      assert.match(lines[0] ?? '', /^\{[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*\}\n$/, JSON.stringify(text))
      const { address, token_name, abilities } = JSON.parse(lines[0] ?? '')
      assert.deepEqual([address, token_name, abilities], [text, text, [text]])
    }
  })
})

describe('The file of AUDIT_LOG', () => {
  it('is created with mode 0600, and contains a line as soon as it is recorded', () => {
    const path = newPath()
    const audit = openAuditLog({ path })
    assert.equal(statSync(path).mode & 0o777, 0o600)
    for (let count = 1; count <= 3; count++) {
      audit.record('customer.added', { customerId: `c${count}` })
      assert.equal(linesOf(path).at(-1).customer_id, `c${count}`)
      assert.equal(linesOf(path).length, count)
    }
    audit.close()
  })

  it('is appended to, and its mode is not changed', () => {
    const path = newPath()
    writeFileSync(path, '{"earlier":true}\n')
    chmodSync(path, 0o640)
    const audit = openAuditLog({ path, elsewhere: null })
    appendFileSync(path, '{"other":true}\n')
    audit.record('customer.added', { customerId: 'c1' })
    assert.deepEqual(
      linesOf(path).map(({ event }) => event),
      [undefined, undefined, 'customer.added'],
    )
    assert.equal(statSync(path).mode & 0o777, 0o640)
    audit.close()
  })

  it('is shared by processes without lost, cut or mixed lines', async () => {
    const path = newPath()
    const program = `
      import { openAuditLog } from ${JSON.stringify(MODULE)}
      const audit = openAuditLog({ path: ${JSON.stringify(path)} })
      const filler = 'x'.repeat(3000)
      for (let count = 0; count < 300; count++)
        audit.record('token.issued', { customerId: process.argv.at(-1), tokenId: String(count), tokenName: filler })
    `
    const args = ['--import', 'tsx', '--input-type=module', '--eval', program, '--']
    const ended = ['a', 'b', 'c'].map((name) => {
      const child = spawn(process.execPath, [...args, name], { stdio: 'inherit' })
      return new Promise((resolve) => child.once('exit', resolve))
    })
    assert.deepEqual(await Promise.all(ended), [0, 0, 0])
    const lines = linesOf(path)
    for (const name of ['a', 'b', 'c']) {
      assert.deepEqual(
        lines.filter(({ customer_id }) => customer_id === name).map(({ token_id }) => Number(token_id)),
        Array.from({ length: 300 }, (_, count) => count),
      )
    }
  })

  it('makes the start fail in one line if it cannot be written', () => {
    const pipe = newPath()
    execFileSync('mkfifo', [pipe])
    for (const [path, code] of [
      [folder, 'EISDIR'],
      [join(folder, 'none', 'audit.jsonl'), 'ENOENT'],
      [join(import.meta.filename, 'audit.jsonl'), 'ENOTDIR'],
      [pipe, 'ENXIO'],
    ] as const) {
      assert.throws(
        () => openAuditLog({ path }),
        (error: unknown) => {
          assert.ok(error instanceof Error && 'forOperators' in error)
          assert.equal(error.name, 'AuditLogRefused')
          assert.match(error.message, /^AUDIT_LOG: [^\n]*\.$/)
          assert.ok(error.message.includes(path) && error.message.includes(code))
          return true
        },
      )
    }
  })

  it('receives nothing after it is closed, nor does another file that reuses its descriptor', () => {
    const path = newPath()
    const audit = openAuditLog({ path })
    audit.close()
    audit.close()
    const other = openSync(newPath(), 'w')
    assert.throws(() => audit.record('customer.added', { customerId: 'c1' }), Unavailable)
    assert.deepEqual(linesOf(path), [])
    closeSync(other)
  })

  it('makes an event unavailable, with the cause, when the disk is full', {
    skip: !existsSync('/dev/full'),
  }, () => {
    const audit = openAuditLog({ path: '/dev/full' })
    assert.throws(
      () => audit.record('customer.added', { customerId: 'c1' }),
      (error: unknown) => {
        assert.ok(error instanceof Unavailable)
        assert.equal((error.cause as NodeJS.ErrnoException).code, 'ENOSPC')
        return true
      },
    )
    audit.close()
  })
})
