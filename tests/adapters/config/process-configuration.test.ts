import assert from 'node:assert/strict'
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { ConfigurationRefused } from '../../../src/adapters/config/configuration-refused.ts'
import { readProcessConfiguration } from '../../../src/adapters/config/process-configuration.ts'
import { SETTINGS } from '../../../src/adapters/config/settings.ts'

describe('The configuration of the process', () => {
  const home = process.cwd()
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-config-'))

  before(() => {
    for (const { name } of SETTINGS) {
      delete process.env[name]
      delete process.env[`${name}_FILE`]
    }
    process.chdir(folder)
  })
  beforeEach(() => rmSync('.env', { recursive: true, force: true }))
  after(() => {
    process.chdir(home)
    rmSync(folder, { recursive: true })
  })

  test('is read from its environment and the .env file of the working directory', () => {
    writeFileSync('.env', 'PORT=4001\nHOST=localhost\n')
    process.env.HOST = '::1'
    const { configuration } = readProcessConfiguration()
    delete process.env.HOST
    assert.equal(configuration.port, 4001)
    assert.equal(configuration.host, '::1')
  })

  test('is warned of a .env file of another account', { skip: process.getuid?.() !== 0 }, () => {
    writeFileSync('.env', 'PORT=4001\n')
    assert.deepEqual(readProcessConfiguration().warnings, [])
    chownSync('.env', 12_345, 12_345)
    assert.deepEqual(readProcessConfiguration().warnings, [
      'The file .env in the working directory belongs to another account (12345) and is read.',
    ])
  })

  test('needs no .env file', () => {
    assert.equal(readProcessConfiguration().configuration.port, 3000)
  })

  for (const [title, bytes] of [
    ['UTF-8 with a byte-order mark', Buffer.from('\ufeffPORT=4001\r\nDATA_DIR=./d\u00e4ta\r\n')],
    [
      'UTF-8 with text of other scripts',
      Buffer.from('# \u4f60\u597d \ud83d\udd11\nPORT=4001\nDATA_DIR=./d\u00e4ta'),
    ],
  ] as const)
    test(`may come from a .env file in ${title}`, () => {
      writeFileSync('.env', bytes)
      const { port, dataDir } = readProcessConfiguration().configuration
      assert.deepEqual({ port, dataDir }, { port: 4001, dataDir: './d\u00e4ta' })
    })

  for (const [title, bytes] of [
    ['UTF-16 with a byte-order mark, as of PowerShell', Buffer.from('\ufeffPORT=4001\n', 'utf16le')],
    ['UTF-16 of the other order', Buffer.from('\ufeffPORT=4001\n', 'utf16le').swap16()],
    ['UTF-16 without a mark', Buffer.from('PORT=4001\n', 'utf16le')],
    ['UTF-32', Buffer.from([0xff, 0xfe, 0, 0, 0x41, 0, 0, 0])],
    ['Latin-1', Buffer.from('PORT=4001\nDATA_DIR=./d\u00e4ta\n', 'latin1')],
    ['no encoding at all', Buffer.from([0x50, 0x4f, 0, 0x3d, 0x31])],
  ] as const)
    test(`is refused when .env is in ${title}`, () => {
      writeFileSync('.env', bytes)
      assert.throws(readProcessConfiguration, (error) => {
        assert.ok(error instanceof ConfigurationRefused)
        return /^\.env: Is not UTF-8 text\..*$/.test(error.message)
      })
    })

  test('is refused when .env cannot be read', () => {
    mkdirSync('.env')
    assert.throws(readProcessConfiguration, (error) => {
      assert.ok(error instanceof ConfigurationRefused)
      return /^\.env: .*cannot be read/.test(error.message)
    })
  })
})
