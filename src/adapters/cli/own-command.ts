import { realpathSync } from 'node:fs'
import { join, relative } from 'node:path'
import { quoted } from './quoted.ts'

/** Where the package's own program starts; its examples are programs of their own. */
const STARTS = ['bin', 'src', 'dist'].map((folder) => join(import.meta.dirname, '../../..', folder, '/'))

/** What a process tells of how it was started. */
interface Started {
  readonly argv: readonly string[]
  readonly execArgv: readonly string[]
  cwd(): string
}

/**
 * What an operator types before the words of a command: `npx latchkey`, or an implementer's program as it was started,
 * whose commands know its routes, its database and its migrations.
 */
export function ownCommand({ argv, execArgv, cwd }: Started = process): string {
  const [, program] = argv
  if (program === undefined || isOfThisPackage(program)) return 'npx latchkey'
  return ['node', ...execArgv, relative(cwd(), program)].map(quoted).join(' ')
}

function isOfThisPackage(program: string): boolean {
  try {
    const path = realpathSync(program)
    return STARTS.some((folder) => path.startsWith(folder))
  } catch {
    // Such as a text that was given by --eval.
    return true
  }
}
