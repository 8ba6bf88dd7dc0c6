import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createEvents, markedLog, mergeEvents, type OpsEvent } from '../../../src/adapters/ops/events.ts'
import { recordingLog } from '../../../src/testing/recorded.ts'

const at = (seconds: number, title: string): OpsEvent => ({ atMs: seconds * 1000, title, kind: 'neutral' })

describe('Events', () => {
  it('are those of the log that the page marks, the last 200 of them', () => {
    const events = createEvents()
    let nowMs = 0
    const log = markedLog(recordingLog(), events, () => ++nowMs)
    log.warn('cache.suspended', {})
    log.info('cache.resumed', {})
    log.error('request.failed', {})
    assert.deepEqual(events.list(), [
      { atMs: 1, title: 'Cache suspended', kind: 'bad' },
      { atMs: 2, title: 'Cache resumed', kind: 'good' },
    ])
    for (let n = 0; n < 200; n++) log.info('database.migrated', {})
    assert.deepEqual([events.list().length, events.list()[0]?.title], [200, 'Migration applied'])
  })

  it('of several processes are merged in order, and what several report is listed once', () => {
    assert.deepEqual(
      mergeEvents([
        [at(0, 'Migration applied'), at(0, 'Migration applied')],
        [at(1, 'Started'), at(20, 'Cache suspended'), at(21, 'Cache resumed'), at(23, 'Cache suspended')],
        [at(2, 'Started'), at(20.1, 'Cache suspended'), at(21.1, 'Cache resumed'), at(60, 'Started')],
      ]),
      [
        ...[at(0, 'Migration applied'), at(0, 'Migration applied'), at(1, 'Started')],
        ...[at(20, 'Cache suspended'), at(21, 'Cache resumed'), at(23, 'Cache suspended')],
        at(60, 'Started'),
      ],
    )
  })

  it('of several processes are the last 200', () => {
    const many = Array.from({ length: 150 }, (_, n) => at(n * 60, 'Cache suspended'))
    const others = many.map(({ atMs }) => ({ ...at(0, 'Cache suspended'), atMs: atMs + 30_000 }))
    const merged = mergeEvents([many, others])
    assert.deepEqual([merged.length, merged.at(-1)?.atMs], [200, 149 * 60_000 + 30_000])
  })
})
