import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mutant } from './row.ts'

/** Passes a copy of the checkout with the mutant's change to `use`, and removes it afterwards. */
export async function withMutant<T>(
  root: string,
  mutant: Mutant,
  use: (tree: string) => Promise<T>,
): Promise<T> {
  const tree = await mkdtemp(join(tmpdir(), 'latchkey-mutant-'))
  try {
    for (const part of [
      'src',
      'tests',
      'verification',
      'sql',
      'deploy',
      'examples/verifier-python',
      'bin',
      'package.json',
      'tsconfig.json',
    ]) {
      await cp(join(root, part), join(tree, part), { recursive: true })
    }
    await symlink(join(root, 'node_modules'), join(tree, 'node_modules'))
    const file = join(tree, mutant.file)
    await writeFile(file, applyMutant(await readFile(file, 'utf8'), mutant))
    return await use(tree)
  } finally {
    await rm(tree, { recursive: true, force: true })
  }
}

/**
 * Returns the source with the mutant's change. Throws unless the text occurs exactly once, so that no mutant goes
 * stale.
 */
export function applyMutant(source: string, { name, file, find, replace, and }: Mutant): string {
  const places = source.split(find).length - 1
  if (places !== 1)
    throw new Error(`The mutant "${name}" fits ${places} places of ${file}, and must fit one.`)
  const changed = source.replace(find, () => replace)
  return and === undefined ? changed : applyMutant(changed, { name, file, ...and })
}
