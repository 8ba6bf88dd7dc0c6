import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** A fenced code block, without its fence and its indentation. */
export interface FencedBlock {
  readonly language: string
  readonly text: string
}

/** Returns all fenced code blocks of a document of this checkout, in order. Throws when one names no language. */
export function allFencedBlocks(file: string): readonly FencedBlock[] {
  const document = readFileSync(join(ROOT, file), 'utf8')
  const blocks = [...document.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm)]
  return blocks.map(([, indent = '', language = '', text = '']) => {
    if (language === '') throw new Error(`${file} has a code block without a language: ${text}`)
    return { language, text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }
  })
}

/** Returns the fenced code blocks in one language of a document of this checkout, in order. */
export function fencedBlocks(file: string, language: string): readonly string[] {
  return allFencedBlocks(file)
    .filter((block) => block.language === language)
    .map(({ text }) => text)
}
