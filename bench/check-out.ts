import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from './part.ts'
import { output } from './processes.ts'

const ROOT = join(import.meta.dirname, '..')

/** Checks a commit out into a folder of the run, with its packages. `remove` also removes git's record of it. */
export async function checkOut(
  bench: Pick<Bench, 'folder' | 'signal'>,
  commit: string,
): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const path = join(bench.folder, 'commit')
  const git = (...args: string[]) => output(bench, ['git', '-C', ROOT, ...args])
  await git('worktree', 'add', '--detach', path, commit).catch((error: Error) => {
    throw new Error(`${commit} cannot be checked out: ${error.message.trim().split('\n').at(-1)}`)
  })
  try {
    const lock = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8')
    if (lock(path) === lock(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'))
    else
      await output(bench, ['npm', 'ci', '--prefix', path, '--ignore-scripts', '--no-audit', '--no-fund'], {
        NODE_ENV: '',
      })
  } catch (error) {
    await remove()
    throw error
  }
  return { path, remove }

  async function remove(): Promise<void> {
    // Not interrupted by the signal that ends the run.
    const options = { signal: new AbortController().signal }
    await output(options, ['git', '-C', ROOT, 'worktree', 'remove', '--force', path])
  }
}
