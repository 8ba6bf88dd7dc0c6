import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runLatchkey, startProcess, temporaryFolder } from '../support/running-process.ts'

const isInstalled = (shell: string) => spawnSync(shell, ['-c', 'exit']).status === 0
const isUtilLinux = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux')

/** What an operator has typed before Tab, and what the shell then shows. */
const TYPED: readonly (readonly [typed: string, shown: RegExp])[] = [
  ['cust', /latchkey customer /],
  ['customer dis', /latchkey customer disable /],
  ['customer disable --js', /latchkey customer disable --json /],
  ['token revoke ana@example.com --issued', /--issued-before /],
  ['service-', /latchkey service-token /],
  ['customer import cust', /latchkey customer import customers\.csv /],
]

let folder: Awaited<ReturnType<typeof temporaryFolder>>
before(async () => {
  folder = await temporaryFolder()
  writeFileSync(join(folder.path, 'customers.csv'), '')
})
after(() => folder.remove())

/** How a fresh shell loads the script. */
const SHELLS = {
  bash: { start: 'bash --norc --noprofile -i', load: "PS1='$ '; source bash.sh" },
  zsh: {
    start: 'zsh -f -i',
    load: "PS1='$ '; autoload -Uz compinit; compinit -u -D; setopt no_beep; source zsh.sh",
  },
} as const

for (const shell of ['bash', 'zsh'] as const)
  describe(`The completion script of ${shell}`, () => {
    const why = isInstalled(shell)
      ? !isUtilLinux && 'script of util-linux is not installed'
      : `NOT TESTED: ${shell} is not installed`
    if (why) process.stderr.write(`WARNING: ${why}\n`)

    test('is printed without settings, and has no syntax error', {
      skip: !isInstalled(shell) && why,
    }, async () => {
      const env = { PORT: 'invalid' }
      const { code, stdout, stderr } = await runLatchkey(['completion', shell], { cwd: folder.path, env })
      assert.deepEqual([code, stderr], [0, ''])
      writeFileSync(join(folder.path, `${shell}.sh`), stdout)
      execFileSync(shell, ['-n', `${shell}.sh`], { cwd: folder.path })
    })

    for (const [typed, shown] of TYPED)
      test(`completes ${typed} at Tab on a terminal`, { skip: why }, async () => {
        const { start, load } = SHELLS[shell]
        const terminal = startProcess('script', ['--quiet', '--command', start, '/dev/null'], {
          cwd: folder.path,
          env: { TERM: 'dumb', HISTFILE: '/dev/null' },
          input: null,
        })
        try {
          terminal.child.stdin?.write(`${load}; echo lo''aded\n`)
          await terminal.until(/loaded/)
          terminal.child.stdin?.write(`latchkey ${typed}\t`)
          await terminal.until(shown)
        } finally {
          terminal.child.kill('SIGKILL')
          await terminal.ended
        }
      })
  })
