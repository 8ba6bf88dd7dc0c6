import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pinoLog } from '../../../src/adapters/pino/log.ts'
import type { LogLevel } from '../../../src/application/configuration.ts'
import { HOSTILE } from '../../support/hostile-text.ts'

const MODULE = join(import.meta.dirname, '../../../src/adapters/pino/log.ts')

function recorded(level: LogLevel = 'info') {
  const lines: string[] = []
  const log = pinoLog({ level, stream: { write: (line) => lines.push(line) } })
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? '') }
}

describe('A line of the log', () => {
  it('is one JSON object with the level’s name, an ISO time, the event and the fields', () => {
    const { log, lines, last } = recorded()
    for (const level of ['info', 'warn', 'error'] as const) {
      log[level]('request failed', { request_id: 'r1', status: 503 })
      const { time, ...rest } = last()
      assert.deepEqual(rest, { level, event: 'request failed', request_id: 'r1', status: 503 })
      assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000)
      assert.match(lines.at(-1) ?? '', /^\{.*\}\n$/)
    }
    assert.equal(lines.length, 3)
  })

  it('needs no fields, and contains neither process id nor host', () => {
    const { log, last } = recorded()
    log.info('listening')
    assert.deepEqual(Object.keys(last()).sort(), ['event', 'level', 'time'])
  })

  it('is written at the configured level and above', () => {
    for (const [level, count] of [
      ['trace', 3],
      ['info', 3],
      ['warn', 2],
      ['error', 1],
      ['fatal', 0],
      ['silent', 0],
    ] as const) {
      const { log, lines } = recorded(level)
      log.info('a')
      log.warn('b')
      log.error('c')
      assert.equal(lines.length, count, level)
    }
  })

  it('is one line of printable characters for any field or event', () => {
    for (const hostile of HOSTILE) {
      for (const text of [hostile, `before${hostile}after`, hostile.repeat(50)]) {
        const { log, lines, last } = recorded()
        log.warn(text, { detail: text, address: text })
        assert.equal(lines.length, 1)
        const line = lines[0] ?? ''
        assert.match(line, /^\{[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*\}\n$/, JSON.stringify(text))
        assert.equal(line.isWellFormed(), true)
        assert.equal(last().detail, text)
        assert.equal(last().event, text)
        assert.equal(last().level, 'warn')
      }
    }
  })

  it('contains letters of every script unescaped', () => {
    const { log, lines } = recorded()
    log.info('ñandu', { detail: 'Zoë 🦊 €' })
    assert.ok(lines[0]?.includes('ñandu'))
    assert.ok(lines[0]?.includes('Zoë 🦊 €'))
  })
})

describe('Standard output', () => {
  // Public case 093
  it('receives every line in order, even when the process is killed right after', () => {
    const program = `
      import { pinoLog } from ${JSON.stringify(MODULE)}
      const log = pinoLog({ level: 'info' })
      for (let count = 1; count <= 500; count++) log.info('line', { status: count, detail: 'x'.repeat(100) })
      process.kill(process.pid, 'SIGKILL')
    `
    const { stdout, signal } = spawnSync(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', program],
      { encoding: 'utf8', maxBuffer: 10_000_000 },
    )
    assert.equal(signal, 'SIGKILL')
    const numbers = stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).status]))
    assert.deepEqual(
      numbers,
      Array.from({ length: 500 }, (_, index) => index + 1),
    )
  })
})

describe('A log without a reader', () => {
  it('blocks no writer, and reports the number of lost lines', async () => {
    const written = 20_000
    const program = `
      import { pinoLog } from ${JSON.stringify(MODULE)}
      const log = pinoLog({ level: 'info' })
      for (let i = 0; i < ${written}; i++) log.info('request', { detail: 'x'.repeat(100) })
      process.stderr.write('done')
      process.stdin.once('data', () => {
        log.info('last')
        process.exit(0)
      })`
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program])
    await once(child.stderr, 'data')
    let read = ''
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      read += part
    })
    // Until all written lines are read: the last line must not meet a full pipe.
    for (let before = -1; before < read.length; await sleep(50)) before = read.length
    child.stdin.end('go on\n')
    await once(child, 'close')
    const lines = read
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const lost = lines.reduce((sum, { event, count }) => sum + (event === 'log.lost' ? count : 0), 0)
    assert.ok(lost > 0)
    assert.equal(lines.filter(({ event }) => event === 'request').length + lost, written)
    assert.equal(lines.at(-1).event, 'last')
  })
})
