import { realpathSync } from 'node:fs'
import { join, relative } from 'node:path'
import { quote } from './quote.ts'

/** Folders of the package's own program. The examples are separate programs. */
const STARTS = ['bin', 'src', 'dist'].map((folder) => join(import.meta.dirname, '../../..', folder, '/'))

/** How a process was started. */
interface Started {
  readonly argv: readonly string[]
  readonly execArgv: readonly string[]
  cwd(): string
}

/**
 * Returns the command line that an operator types before a command: `npx latchkey`, or the implementer's program as it
 * was started, because only that program knows its own routes, database and migrations.
 */
export function ownCommand({ argv, execArgv, cwd }: Started = process): string {
  const [, program] = argv
  if (program === undefined || isOfThisPackage(program)) return 'npx latchkey'
  return ['node', ...execArgv, relative(cwd(), program)].map(quote).join(' ')
}

function isOfThisPackage(program: string): boolean {
  try {
    const path = realpathSync(program)
    return STARTS.some((folder) => path.startsWith(folder))
  } catch {
    // Such as code given by --eval.
    return true
  }
}
