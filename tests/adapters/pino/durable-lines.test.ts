import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { Worker } from 'node:worker_threads'
import { durableLines, fileLines } from '../../../src/adapters/pino/durable-lines.ts'
import { Unavailable } from '../../../src/domain/errors.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-audit-'))
after(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const newPath = () => join(folder, `audit-${++files}.jsonl`)

describe('A file that is renamed', () => {
  it('is followed by a new one with mode 0600, for each of its writers', () => {
    const path = newPath()
    const writers = [fileLines(path), fileLines(path)]
    for (const round of [0, 1, 2]) {
      for (const [n, { write }] of writers.entries()) write(`${round} ${n}\n`)
      renameSync(path, `${path}.${round}`)
    }
    for (const { close } of writers) close()
    for (const round of [0, 1, 2]) {
      assert.equal(readFileSync(`${path}.${round}`, 'utf8'), `${round} 0\n${round} 1\n`)
      assert.equal(statSync(`${path}.${round}`).mode & 0o777, 0o600)
    }
  })

  it('still takes lines as long as no new one can be created', () => {
    const home = newPath()
    mkdirSync(home)
    const path = join(home, 'audit')
    const lines = fileLines(path)
    renameSync(path, `${home}-rotated`)
    // No file can be created at the path of a folder, by root neither.
    mkdirSync(path)
    lines.write('first\n')
    rmSync(path, { recursive: true })
    lines.write('second\n')
    lines.close()
    assert.equal(readFileSync(`${home}-rotated`, 'utf8'), 'first\n')
    assert.equal(readFileSync(path, 'utf8'), 'second\n')
  })
})

describe('A pipe', () => {
  /** Both ends of a pipe, both non-blocking. */
  function openPipe() {
    const path = newPath()
    execFileSync('mkfifo', [path])
    const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const write = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
    return { read, write }
  }
  const line = `${'x'.repeat(1023)}\n`
  function fill(write: (line: string) => void): number {
    for (let count = 0; ; count++) {
      try {
        write(line)
      } catch (error) {
        assert.ok(error instanceof Unavailable)
        assert.equal((error.cause as NodeJS.ErrnoException).code, 'EAGAIN')
        return count
      }
    }
  }

  it('that is full is waited for once, and then rejects lines at once for a while', () => {
    const { read, write } = openPipe()
    const lines = durableLines(write)
    const room = fill(lines.write)
    assert.ok(room > 0)
    const beganMs = performance.now()
    for (let count = 0; count < 20; count++) assert.equal(fill(lines.write), 0)
    // Waiting each time would take five seconds.
    assert.ok(performance.now() - beganMs < 2500)
    // Once the pipe is read, it accepts lines again.
    readSync(read, Buffer.alloc(65_536))
    assert.equal(fill(lines.write), room)
    closeSync(read)
    closeSync(write)
  })

  it('without a reader makes the event unavailable and does not end the process', () => {
    const { read, write } = openPipe()
    const lines = durableLines(write)
    lines.write(line)
    closeSync(read)
    assert.throws(
      () => lines.write(line),
      ({ cause }: Unavailable) => (cause as NodeJS.ErrnoException).code === 'EPIPE',
    )
    closeSync(write)
  })

  it('that was full in the middle of a line receives the next line whole', () => {
    const { read, write } = openPipe()
    const lines = durableLines(write)
    for (let count = 0; count < 60; count++) lines.write(line)
    assert.throws(() => lines.write(`${'y'.repeat(8191)}\n`), Unavailable)
    const bytes = Buffer.alloc(100_000)
    assert.equal(readSync(read, bytes), 60 * 1024 + 4096)
    lines.write('whole\n')
    lines.write('next\n')
    assert.equal(bytes.toString('latin1', 0, readSync(read, bytes)), '\nwhole\nnext\n')
    closeSync(read)
    closeSync(write)
  })

  it('that is read concurrently receives every line whole, longer ones too', () => {
    const { write, read } = openPipe()
    fill((text) => {
      try {
        writeSync(write, text)
      } catch (error) {
        throw new Unavailable({ cause: error })
      }
    })
    const reader = new Worker(
      `
        const { parentPort, workerData } = require('node:worker_threads')
        const { readSync } = require('node:fs')
        let bytes = 0
        const chunk = Buffer.alloc(65536)
        const endMs = Date.now() + 10_000
        while (bytes < workerData.bytes && Date.now() < endMs) {
          try { bytes += readSync(workerData.fd, chunk) } catch {}
        }
        parentPort.postMessage(bytes)
      `,
      { eval: true, workerData: { fd: read, bytes: 64 * 1024 + 300_000 } },
    )
    return new Promise<void>((resolve, reject) => {
      reader.once('online', () => {
        durableLines(write).write(`${'y'.repeat(299_999)}\n`)
      })
      reader.once('error', reject)
      reader.once('message', (bytes) => {
        closeSync(read)
        closeSync(write)
        assert.equal(bytes, 64 * 1024 + 300_000)
        resolve()
      })
    })
  })
})
