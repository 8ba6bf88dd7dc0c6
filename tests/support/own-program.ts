import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { temporaryFolder } from './running-process.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Creates a folder like an implementer's, with one program or test, where `latchkey` resolves to this checkout. */
export function ownProgram(name: string, text: string): Promise<{ path: string; remove(): void }> {
  return ownProject({ [name]: text })
}

/** Creates a folder like an implementer's, with files by name, where `latchkey` resolves to this checkout. */
export async function ownProject(
  files: Readonly<Record<string, string>>,
): Promise<{ path: string; remove(): void }> {
  const folder = await temporaryFolder()
  const entry = (path: string) => `'${join(ROOT, 'src/package', path)}.ts'`
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder.path, name)), { recursive: true })
    writeFileSync(
      join(folder.path, name),
      text
        .replaceAll("'latchkey'", entry('index'))
        .replaceAll(/'latchkey\/([\w/-]+)'/g, (_, path) => entry(path)),
    )
  }
  writeFileSync(join(folder.path, 'package.json'), '{ "type": "module" }\n')
  symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'))
  return folder
}
