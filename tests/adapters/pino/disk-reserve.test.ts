import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { diskReserve } from '../../../src/adapters/pino/disk-reserve.ts'
import { Unavailable } from '../../../src/domain/errors.ts'

const full = new Unavailable({ cause: Object.assign(new Error('full'), { code: 'ENOSPC' }) })
const other = new Unavailable({ cause: Object.assign(new Error('other'), { code: 'EIO' }) })

describe('The reserve beside a file', () => {
  it('is released by the error of a full disk only', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-reserve-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'audit.jsonl')
    const reserve = diskReserve(path)
    assert.deepEqual(
      [statSync(`${path}.reserve`).size, statSync(`${path}.reserve`).mode & 0o777],
      [2 ** 20, 0o600],
    )
    assert.equal(reserve.release(other), false)
    assert.equal(reserve.release(new Error('no cause')), false)
    reserve.check()
    assert.equal(reserve.release(full), true)
    assert.equal(existsSync(`${path}.reserve`), false)
    assert.throws(() => reserve.check(), { name: 'DiskFull', code: 'ENOSPC' })
  })

  it('is shared by all processes of the file, and created again at the next opening', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-reserve-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const [one, two] = [diskReserve(join(folder, 'a')), diskReserve(join(folder, 'a'))]
    one.release(full)
    assert.equal(two.release(full), true)
    assert.throws(() => two.check(), { name: 'DiskFull' })
    diskReserve(join(folder, 'a'))
    one.check()
    two.check()
  })

  it('is missing where it cannot be created, which is not a full disk', () => {
    const reserve = diskReserve('/nonexistent/folder/audit.jsonl')
    reserve.check()
    assert.equal(reserve.release(full), true)
    assert.throws(() => reserve.check(), {
      name: 'DiskFull',
      message: /^The disk of \/nonexistent.* is full/,
    })
  })
})
