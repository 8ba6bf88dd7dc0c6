import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationMs } from '../../src/lib/duration.ts'

test('A duration is a whole number and a unit', () => {
  for (const [text, ms] of [
    ['0ms', 0],
    ['007ms', 7],
    ['1s', 1000],
    ['15m', 900_000],
    ['2h', 7_200_000],
    ['90d', 7_776_000_000],
    ['3650d', 315_360_000_000],
  ] as const)
    assert.equal(durationMs(text), ms)
})

test('An invalid duration or one above ten years is not parsed', () => {
  for (const text of [
    '',
    '1',
    's',
    '1.5s',
    '-1s',
    '+1s',
    '1 s',
    '1S',
    '1s\n',
    '1w',
    '3651d',
    '315360000001ms',
    `${'9'.repeat(400)}d`,
  ])
    assert.equal(durationMs(text), null)
})
