import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'

const SKIPPED = new Set(['.git', 'coverage', 'data', 'dist', 'node_modules'])

/** Returns the Markdown files of a folder and below it, as relative paths. */
export function markdownFiles(root: string, folder = ''): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name)
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : markdownFiles(root, path)
    return entry.name.endsWith('.md') ? [path] : []
  })
}

/** A relative link that leads nowhere. */
export interface BrokenLink {
  readonly file: string
  readonly target: string
  /** The path that the link names, relative to the root, without its anchor. */
  readonly path: string
}

/** Returns the relative links of a Markdown file whose file or anchor does not exist. */
export function brokenLinks(root: string, file: string): readonly BrokenLink[] {
  return relativeLinks(readFileSync(join(root, file), 'utf8'))
    .map((target) => ({ file, target, path: pathOf(file, target) }))
    .filter(({ target, path }) => !resolves(root, path, target.split('#')[1]))
}

const pathOf = (file: string, target: string) => {
  const [path = ''] = target.split('#')
  return path === '' ? file : posix.join(posix.dirname(file), path)
}

function resolves(root: string, path: string, anchor: string | undefined): boolean {
  const at = join(root, path)
  if (path.startsWith('../') || !existsSync(at)) return false
  if (anchor === undefined) return true
  return statSync(at).isFile() && anchors(readFileSync(at, 'utf8')).has(anchor)
}

/** Returns the targets of inline links, pictures and reference links that name no scheme. */
function relativeLinks(text: string): readonly string[] {
  const prose = withoutCode(text).replaceAll(/`[^`\n]*`/g, '`')
  return [...prose.matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)|^\[[^\]]+\]: (\S+)/gm)]
    .map(([, inline, reference]) => inline ?? reference ?? '')
    .filter((target) => !/^[a-z][a-z+.-]*:/i.test(target))
}

/** Returns the anchors that GitHub gives to the headings. */
function anchors(text: string): ReadonlySet<string> {
  const found = new Set<string>()
  for (const [, heading = ''] of withoutCode(text).matchAll(/^#{1,6} +(.+)$/gm)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = words.replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')
    let unique = anchor
    for (let n = 1; found.has(unique); n++) unique = `${anchor}-${n}`
    found.add(unique)
  }
  return found
}

const withoutCode = (text: string) => text.replaceAll(/^( *)(```|~~~)[\s\S]*?^\1\2$/gm, '')
