import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { appendableFile, databaseFolder, secretFile } from '../../../src/adapters/node-fs/permissions.ts'
import { temporaryFolder } from '../../support/running-process.ts'

describe('The permissions that other accounts have', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  before(async () => {
    folder = await temporaryFolder()
    writeFileSync(join(folder.path, 'file'), '')
    mkdirSync(join(folder.path, 'folder'))
  })
  after(() => folder.remove())
  const withMode = (name: string, mode: number) => {
    const path = join(folder.path, name)
    chmodSync(path, mode)
    return path
  }

  for (const [check, name, states] of [
    [
      secretFile,
      'file',
      { '0400': 'ok', '0600': 'ok', '0640': 'ok', '0644': 'warning', '0660': 'failure', '0602': 'failure' },
    ],
    [databaseFolder, 'folder', { '0700': 'ok', '0710': 'warning', '0755': 'warning' }],
    [appendableFile, 'file', { '0600': 'ok', '0640': 'ok', '0644': 'warning', '0602': 'warning' }],
  ] as const)
    test(`are reported by ${check.name}`, () => {
      for (const [mode, state] of Object.entries(states)) {
        const found = check('files.X', withMode(name, Number.parseInt(mode, 8)))
        assert.deepEqual([found.state, found.facts?.mode], [state, mode])
        assert.equal(found.hint === null, state === 'ok')
      }
    })

  test('are not checked for missing files, and no file is created', () => {
    const path = join(folder.path, 'none')
    assert.deepEqual(
      [secretFile('a', path), databaseFolder('a', path), appendableFile('a', path)].map(({ state }) => state),
      ['failure', 'ok', 'ok'],
    )
    assert.equal(appendableFile('a', join(path, 'audit.jsonl')).state, 'failure')
    assert.deepEqual(readdirSync(folder.path).sort(), ['file', 'folder'])
  })
})
