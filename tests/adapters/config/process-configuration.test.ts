import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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

  for (const [title, create] of [
    ['a folder', () => mkdirSync('.env')],
    ['a symbolic link without a target', () => symlinkSync('none', '.env')],
    ['a named pipe, which nobody writes to', () => execFileSync('mkfifo', ['.env'])],
    ['a device that never ends', () => symlinkSync('/dev/zero', '.env')],
    ['a file of more than 1 MiB', () => writeFileSync('.env', '#'.repeat(1024 * 1024 + 1))],
  ] as const)
    test(`is refused when .env is ${title}`, () => {
      create()
      assert.throws(readProcessConfiguration, (error) => {
        assert.ok(error instanceof ConfigurationRefused)
        return /^\.env: .*cannot be read/.test(error.message)
      })
    })

  test('is refused when the file of a secret is a named pipe or a device, and not when the shell passes a pipe', () => {
    execFileSync('mkfifo', ['pipe'])
    for (const path of ['pipe', '/dev/zero', '/dev/null']) {
      process.env.DATABASE_URL_FILE = path
      assert.throws(readProcessConfiguration, /DATABASE_URL_FILE: Names something else than a regular file/)
    }
    delete process.env.DATABASE_URL_FILE
    rmSync('pipe')
    const command = `"$0" --import '${import.meta.resolve('tsx')}' --input-type=module -e "import { readProcessConfiguration } from '$1'; console.log(readProcessConfiguration().configuration.databaseUrl)"`
    const module = new URL('../../../src/adapters/config/process-configuration.ts', import.meta.url).href
    const args = [
      '-c',
      `echo postgres://pipe@127.0.0.1/x | DATABASE_URL_FILE=/dev/fd/3 ${command} 3<&0`,
      process.execPath,
      module,
    ]
    assert.equal(execFileSync('sh', args, { encoding: 'utf8' }), 'postgres://pipe@127.0.0.1/x\n')
  })
})
