import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { auditFieldName } from '../src/adapters/pino/audit-log.ts'
import { AUDIT_EVENTS } from '../src/application/audit-events.ts'
import { markdownTable } from './support/document.ts'

const text = readFileSync(join(import.meta.dirname, '../docs/audit.md'), 'utf8')
const events = Object.entries(AUDIT_EVENTS)
const code = (name: string) => `\`${name}\``

test('the table of events matches the code', () => {
  const rows = events.map(([name, { meaning, recordedFields }]) => [
    code(name),
    meaning,
    recordedFields.map((field) => code(auditFieldName(field))).join(', '),
  ])
  assert.ok(text.includes(`\n\n${markdownTable(['event', 'meaning', 'fields'], rows)}\n\n`))
})

test('the table of reasons matches the code', () => {
  const rows = events.flatMap(([name, { reasons }]) =>
    Object.entries(reasons).map(([reason, meaning]) => [code(name), code(reason), meaning]),
  )
  assert.ok(text.includes(`\n\n${markdownTable(['event', 'reason', 'meaning'], rows)}\n\n`))
})
