import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { blockWriter, type Lines } from '../../../src/adapters/access-log/block-writer.ts'
import { openAuditLog } from '../../../src/adapters/pino/audit-log.ts'
import { durableLines, fileLines } from '../../../src/adapters/pino/durable-lines.ts'
import { endsTorn } from '../../../src/adapters/pino/torn-end.ts'
import { systemClock } from '../../../src/adapters/system-clock/clock.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { temporaryFolder } from '../../support/running-process.ts'
import { openSmallDisk, type SmallDisk } from '../../support/small-disk.ts'

const LONG = `{"event":"long","filling":"${'x'.repeat(9000)}"}\n`

describe('A line that a full disk cuts off', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let disk: SmallDisk | string
  before(async () => {
    folder = await temporaryFolder()
    disk = openSmallDisk(folder.path, 1)
  })
  after(() => {
    if (typeof disk !== 'string') disk.close()
    folder.remove()
  })

  /** Creates a file on a full disk that ends within a line, and then makes room. Null if no disk can be mounted. */
  function prepare(t: TestContext, write: (line: string, path: string) => void): string | null {
    if (typeof disk === 'string') {
      t.skip(disk)
      return null
    }
    const { path: root } = disk
    const path = join(root, 'lines')
    rmSync(path, { force: true })
    // The rest of the block of the first line is all the space that the second one has.
    write('{"event":"first"}\n', path)
    disk.fill('filler')
    write(LONG, path)
    assert.equal(readFileSync(path, 'latin1').at(-1) === '\n', false)
    rmSync(join(root, 'filler'))
    return path
  }

  /** Writes without an error, whether the disk has room or not. */
  const tryTo = (write: () => void) => {
    try {
      write()
    } catch (error) {
      assert.ok(error instanceof Unavailable)
    }
  }

  /** The lines of the file, null for those that are not JSON. */
  const readLines = (path: string) =>
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => {
        try {
          return JSON.parse(line).event
        } catch {
          return null
        }
      })

  it('does not swallow an audit event that another writer records on the same descriptor', (t) => {
    let fd = 0
    const path = prepare(t, (line, path) => {
      fd ||= openSync(path, 'a')
      tryTo(() => durableLines(fd).write(line))
    })
    if (path === null) return
    openAuditLog({ path: null, elsewhere: durableLines(fd) }).record('customer.added', { customerId: 'c1' })
    durableLines(fd).write('{"event":"last"}\n')
    closeSync(fd)
    assert.deepEqual(readLines(path).slice(-3), [null, 'customer.added', 'last'])
  })

  it('does not swallow an audit event of another process in the same file', (t) => {
    const path = prepare(t, (line, path) => {
      const lines = fileLines(path)
      tryTo(() => lines.write(line))
      lines.close()
    })
    if (path === null) return
    const audit = openAuditLog({ path })
    audit.record('customer.added', { customerId: 'c1' })
    audit.close()
    assert.deepEqual(readLines(path).slice(-2), [null, 'customer.added'])
  })

  it('is repeated whole by the access log, after the lines that others have written meanwhile', (t) => {
    let fd = 0
    const writers: Lines[] = []
    const path = prepare(t, (line, path) => {
      fd ||= openSync(path, 'a')
      const [access = blockWriter({ fd, clock: systemClock, endsTorn: () => endsTorn(fd) })] = writers
      writers[0] = access
      access.write(line)
      access.close()
    })
    if (path === null) return
    durableLines(fd).write('{"event":"other"}\n')
    writers[0]?.close()
    closeSync(fd)
    assert.deepEqual(readLines(path).slice(-3), [null, 'other', 'long'])
  })
})
