import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTraceId } from '../../../src/adapters/http/request/trace-context.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'

test('parseTraceId returns the trace id of a valid traceparent, also of a later version', () => {
  for (const header of [
    `00-${TRACE}-${PARENT}-00`,
    `00-${TRACE}-${PARENT}-ff`,
    `01-${TRACE}-${PARENT}-01`,
    `cc-${TRACE}-${PARENT}-01-what-the-future-will-be-like`,
  ])
    assert.equal(parseTraceId(header), TRACE, header)
})

test('parseTraceId returns null for an invalid traceparent', () => {
  for (const header of [
    undefined,
    '',
    [`00-${TRACE}-${PARENT}-01`],
    `ff-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE}-${PARENT}-1`,
    `00-${TRACE}-${PARENT}`,
    `cc-${TRACE}-${PARENT}-01.more`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    ` 00-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01\n`,
  ])
    assert.equal(parseTraceId(header), null, String(header))
})
