import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

  test('comes from its environment and the .env file of the working directory', () => {
    writeFileSync('.env', 'PORT=4001\nHOST=localhost\n')
    process.env.HOST = '::1'
    const { configuration } = readProcessConfiguration()
    delete process.env.HOST
    assert.equal(configuration.port, 4001)
    assert.equal(configuration.host, '::1')
  })

  test('needs no .env file', () => {
    assert.equal(readProcessConfiguration().configuration.port, 3000)
  })

  test('is refused when .env cannot be read', () => {
    mkdirSync('.env')
    assert.throws(readProcessConfiguration, (error) => {
      assert.ok(error instanceof ConfigurationRefused)
      return /^\.env: .*cannot be read/.test(error.message)
    })
  })
})
