import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { createProgressBar } from '../../../../src/adapters/cli/import/progress-bar.ts'
import { toJsonText } from '../command-line.ts'

const CLEAR = '\r\u001b[K'

function aTerminal(columns = 100) {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns })
  let nowMs = 0
  const bar = createProgressBar(stream, () => nowMs)
  return {
    bar,
    written: () => toJsonText(stream),
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

describe('The progress bar', () => {
  it('shows the completed share', () => {
    const { bar, written, pass } = aTerminal()
    for (const [share, full, percent] of [
      [0, 0, '  0'],
      [0.256, 10, ' 25'],
      [0.999, 39, ' 99'],
      [1, 40, '100'],
    ] as const) {
      bar.show(share, 12_345)
      const drawn = '█'.repeat(full) + '░'.repeat(40 - full)
      assert.equal(written(), `${CLEAR}Importing  ${drawn} ${percent} %  12345 rows`)
      pass(100)
    }
  })

  it('is drawn at most ten times a second', () => {
    const { bar, written, pass } = aTerminal()
    bar.show(0, 1)
    written()
    pass(99)
    bar.show(0.5, 2)
    assert.equal(written(), '')
    pass(1)
    bar.show(0.5, 3)
    assert.match(written(), /3 rows$/)
  })

  it('is removed once, before other lines', () => {
    const { bar, written } = aTerminal()
    bar.clear()
    assert.equal(written(), '')
    bar.show(0, 0)
    written()
    bar.clear()
    bar.clear()
    assert.equal(written(), CLEAR)
  })

  it('fits into one line of any terminal', () => {
    for (const columns of [1, 40, 50, 79, 80]) {
      const { bar, written } = aTerminal(columns)
      bar.show(0.5, 1_000_000)
      assert.ok(written().length - CLEAR.length <= Math.max(40, columns))
    }
  })

  it('shows only the number of rows when the total is unknown', () => {
    const { bar, written } = aTerminal()
    bar.show(null, 7)
    assert.equal(written(), `${CLEAR}Importing  7 rows`)
  })

  it('is not drawn when the output is no terminal', () => {
    const stream = new PassThrough()
    const bar = createProgressBar(stream, () => 0)
    bar.show(0.5, 1)
    bar.clear()
    assert.equal(toJsonText(stream), '')
  })
})
