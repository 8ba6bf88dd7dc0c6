import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { allFencedBlocks, fencedBlocks } from './fenced-blocks.ts'
import type { RunningProcess } from './running-process.ts'

const ROOT = join(import.meta.dirname, '../..')
const used = new Set<string>()

const pages = (folder: string) =>
  readdirSync(join(ROOT, folder))
    .map((name) => join(folder, name))
    .filter((file) => file.endsWith('.md'))

/** The document whose code blocks `tests/deploy/shop-tutorial.test.ts` uses, all of them. */
export const SHOP_TUTORIAL = 'docs/tutorial/a-small-shop.md'

/** The guides whose code blocks `tests/moving/guides.test.ts` uses, all of them. */
export const MOVING_GUIDES = pages('docs/how-to').filter((file) => /\/(move-|back-up-)/.test(file))

/** The documents all of whose code blocks `tests/readme.test.ts` uses or lists. */
const TESTED_DOCUMENTS = ['README.md', ...pages('docs/tutorial'), ...pages('docs/how-to')].filter(
  (file) => file !== SHOP_TUTORIAL && !MOVING_GUIDES.includes(file),
)

/** Returns the code block of this number among those in one language, and records that a test uses it. */
export function block(file: string, language: string, n = 0): string {
  const text = fencedBlocks(file, language)[n]
  if (text === undefined) throw new Error(`${file} has no block ${n} in ${language}`)
  used.add(`${file}\n${text}`)
  return text
}

/** Returns the code blocks of the documents that no test has used, as file and text. Diagrams need no test. */
export function unusedBlocks(
  documents: readonly string[] = TESTED_DOCUMENTS,
): readonly (readonly [file: string, text: string])[] {
  return documents
    .flatMap((file) =>
      allFencedBlocks(file)
        .filter(({ language, text }) => language !== 'mermaid' && !used.has(`${file}\n${text}`))
        .map(({ text }) => [file, text] as const),
    )
    .sort()
}

/** Asserts that an output equals a documented one, in which `…` stands for any text within a line. */
export function assertShown(output: string, shown: string): void {
  const pattern = shown.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  assert.match(output, new RegExp(`^${pattern.join('.*')}$`))
}

/** Stops processes by their ids, as Ctrl-C would, and waits for the exit of their shell. */
export async function interrupt(shell: RunningProcess, pids: readonly number[]): Promise<string> {
  for (const pid of pids) process.kill(pid, 'SIGINT')
  return (await shell.ended).stdout
}
