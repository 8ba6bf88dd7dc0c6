import assert from 'node:assert/strict'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ownCommand } from '../../../src/adapters/cli/own-command.ts'
import { temporaryFolder } from '../../support/running-process.ts'

const ROOT = join(import.meta.dirname, '../../..')

const typed = (program: string | undefined, cwd: string, execArgv: readonly string[] = []) =>
  ownCommand({ argv: program === undefined ? ['node'] : ['node', program], execArgv, cwd: () => cwd })

describe('The command shown to operators', () => {
  test('is that of the package when its own program runs, by whatever path', async (t) => {
    const folder = await temporaryFolder()
    t.after(folder.remove)
    const link = join(folder.path, 'latchkey')
    symlinkSync(join(ROOT, 'bin/latchkey.js'), link)
    for (const program of [link, join(ROOT, 'src/main.ts'), undefined, join(folder.path, 'absent')])
      assert.equal(typed(program, folder.path), 'npx latchkey')
  })

  test("is the implementer's program, as it was started", async (t) => {
    const folder = await temporaryFolder()
    t.after(folder.remove)
    for (const name of ['my-service.ts', 'my service.ts']) writeFileSync(join(folder.path, name), '')
    const flags = ['--import', 'tsx', '--title=a b']
    assert.equal(
      typed(join(folder.path, 'my-service.ts'), folder.path, flags),
      "node --import tsx '--title=a b' my-service.ts",
    )
    assert.equal(
      typed(join(folder.path, 'my service.ts'), join(folder.path, '..')),
      `node '${folder.path.split('/').at(-1)}/my service.ts'`,
    )
  })
})
