import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { blockWriter, type Lines } from '../../../src/adapters/access-log/block-writer.ts'
import { systemClock } from '../../../src/adapters/system-clock/clock.ts'
import { temporaryFolder } from '../../support/running-process.ts'

const SOURCE = join(import.meta.dirname, '../../../src')
const BLOCK_BYTES = 4096

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let ends: (() => void)[]
beforeEach(async () => {
  folder = await temporaryFolder()
  ends = [folder.remove]
})
afterEach(() => {
  for (const end of ends.reverse()) end()
})

function open(path: string, flags: number | string): number {
  const fd = openSync(path, flags)
  ends.push(() => closeSync(fd))
  return fd
}

function writerTo(fd: number, capacityBytes?: number): Lines {
  const writer = blockWriter({
    fd,
    clock: systemClock,
    ...(capacityBytes === undefined ? {} : { capacityBytes }),
  })
  ends.push(writer.close)
  return writer
}

function toFile() {
  const path = join(folder.path, 'lines')
  return { ...writerTo(open(path, 'w')), text: () => readFileSync(path, 'latin1') }
}

/** Both ends of a pipe; `read` empties it. */
function aPipe() {
  const path = join(folder.path, 'pipe')
  assert.equal(spawnSync('mkfifo', [path]).status, 0)
  const reading = open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return { fd: open(path, constants.O_WRONLY | constants.O_NONBLOCK), read }

  function read(): string {
    const buffer = Buffer.alloc(BLOCK_BYTES)
    let text = ''
    try {
      for (;;) text += buffer.toString('latin1', 0, readSync(reading, buffer))
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN')
      return text
    }
  }
}

function toPipe(capacityBytes?: number) {
  const { fd, read } = aPipe()
  return { ...writerTo(fd, capacityBytes), read }
}

const line = (number: number) => `{"number":${number},"filling":"${'x'.repeat(number % 150)}"}\n`
const parsed = (text: string) =>
  text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((each) => JSON.parse(each))

describe('Log lines in blocks', () => {
  it('are written as whole lines when a block is full', () => {
    const { write, text } = toFile()
    let expected = ''
    let written = 0
    for (let number = 0; number < 500; number++) {
      write(line(number))
      const grown = text().length - written
      assert.ok(grown <= BLOCK_BYTES, `${grown} bytes at once`)
      assert.ok(expected.length - written <= BLOCK_BYTES)
      assert.equal(text(), expected.slice(0, text().length))
      assert.match(text(), /^$|\n$/)
      written = text().length
      expected += line(number)
    }
    assert.ok(written > BLOCK_BYTES)
  })

  it('are written after at most one second', async () => {
    const { write, text } = toFile()
    write(line(1))
    await sleep(500)
    write(line(2))
    assert.equal(text(), '')
    for (let i = 0; i < 200 && text() === ''; i++) await sleep(20)
    assert.equal(text(), line(1) + line(2))
  })

  it('are all written exactly once by close', () => {
    const { write, close, text } = toFile()
    for (let number = 0; number < 100; number++) write(line(number))
    close()
    close()
    assert.deepEqual(
      parsed(text()).map(({ number }) => number),
      Array.from({ length: 100 }, (_, number) => number),
    )
  })

  it('are written whole at any length', () => {
    const { write, close, text } = toFile()
    const lines = [4095, 4096, 4097, 3, 20_000, 1].map((length) => `${'y'.repeat(length - 1)}\n`)
    for (const each of lines) write(each)
    close()
    assert.equal(text(), lines.join(''))
  })
})

/** Checks that numbered lines are consecutive, apart from reported gaps. Returns the next number and the gaps. */
function followed(text: string): { next: number; gaps: number } {
  let next = 0
  let gaps = 0
  for (const { number, time, ...report } of parsed(text)) {
    if (number === undefined) {
      assert.match(time, /^\d{4}-.*Z$/)
      assert.deepEqual(report, { level: 'warn', event: 'access_log.lost', count: report.count })
      next += report.count
      gaps++
    } else assert.equal(number, next++)
  }
  return { next, gaps }
}

describe('Log lines for a pipe without a reader', () => {
  it('are buffered up to a limit; further lines are dropped, and their number is reported where they are missing', async () => {
    const { write, read, close } = toPipe(100_000)
    for (let number = 0; number < 20_000; number++) write(line(number))
    let text = ''
    for (let rounds = 0; rounds < 500 && followed(text).next < 20_000; rounds++) {
      text += read()
      await sleep(10)
    }
    assert.ok(text.length < 200_000, `${text.length} bytes were buffered`)
    write(line(20_000))
    close()
    const { next, gaps } = followed(text + read())
    assert.equal(next, 20_001)
    assert.ok(gaps > 0)
  })

  it('are accepted again when the pipe is read, and each gap is reported with its count', async () => {
    const { write, read, close } = toPipe(10_000)
    let text = ''
    for (let number = 0; number < 10_000; number++) {
      write(line(number))
      if (number % 2000 > 0) continue
      text += read()
      await sleep(10)
    }
    text += read()
    close()
    const { next, gaps } = followed(text + read())
    assert.equal(next, 10_000)
    assert.ok(gaps > 1)
  })

  it('continue after a partial write', () => {
    const { write, read, close } = toPipe()
    const long = `${Array.from({ length: 30_000 }, (_, i) => i).join()}\n`
    write(long)
    write(line(1))
    let text = read()
    assert.ok(text.length > 0 && text.length < long.length)
    for (let rounds = 0; rounds < 10; rounds++) {
      write(line(2))
      close()
      text += read()
    }
    assert.equal(text, `${long}${line(1)}${line(2).repeat(10)}`)
  })

  it('delay no writer, and delay close by at most one second', () => {
    const { write, close } = toPipe()
    const beganMs = performance.now()
    for (let number = 0; number < 100_000; number++) write(line(number))
    const writtenMs = performance.now()
    close()
    const closedMs = performance.now()
    assert.ok(writtenMs - beganMs < 5000, `${writtenMs - beganMs} ms for 100,000 lines`)
    assert.ok(closedMs - writtenMs < 2000, `${closedMs - writtenMs} ms to close`)
  })
})

describe('Log lines for an output that rejects writes', () => {
  const skip = existsSync('/dev/full') ? false : 'there is no /dev/full here'
  it('are dropped silently, and close does not wait', { skip }, () => {
    const { write, close } = writerTo(open('/dev/full', 'w'))
    for (let number = 0; number < 30_000; number++) write(line(number))
    const beganMs = performance.now()
    close()
    assert.ok(performance.now() - beganMs < 500)
  })
})

describe('Access log and application log in one pipe', () => {
  it('never mix within a line while the reader is slow, and lose no line at the exit', async () => {
    const program = `
      import { blockWriter } from ${JSON.stringify(join(SOURCE, 'adapters/access-log/block-writer.ts'))}
      import { pinoLog } from ${JSON.stringify(join(SOURCE, 'adapters/pino/log.ts'))}
      import { systemClock } from ${JSON.stringify(join(SOURCE, 'adapters/system-clock/clock.ts'))}
      const log = pinoLog({ level: 'info' })
      const { write, close } = blockWriter({ fd: process.stdout.fd, clock: systemClock })
      process.on('exit', close)
      for (let number = 0; number < 5000; number++) {
        write(JSON.stringify({ number }) + '\\n')
        if (number % 100 === 0) log.info('beside', { status: number, detail: 'z'.repeat(1000) })
      }
      setTimeout(() => process.exit(), 20)
    `
    const args = ['--import', 'tsx', '--input-type=module', '--eval', program]
    const { fd, read } = aPipe()
    const child = spawn(process.execPath, args, { stdio: ['ignore', fd, 'inherit'] })
    let isOver = false
    child.once('close', () => {
      isOver = true
    })
    let text = ''
    while (!isOver) {
      await sleep(20)
      text += read()
    }
    const lines = parsed(text + read())
    assert.deepEqual(
      lines.flatMap(({ number }) => (number === undefined ? [] : [number])),
      Array.from({ length: 5000 }, (_, number) => number),
    )
    assert.equal(lines.filter(({ event }) => event === 'beside').length, 50)
    assert.equal(lines.length, 5050)
  })
})
