import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** Returns the fenced code blocks in one language of a document of this checkout, or of one section, in order. */
export function fencedBlocks(file: string, language: string, section?: string): readonly string[] {
  const document = readFileSync(join(ROOT, file), 'utf8')
  const text =
    section === undefined
      ? document
      : (document.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '')
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, block = '']) =>
    name === language ? [block] : [],
  )
}
