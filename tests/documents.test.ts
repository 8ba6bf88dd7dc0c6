import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { brokenLinks, markdownFiles } from './support/links.ts'
import { temporaryFolder } from './support/running-process.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const files = markdownFiles(root)
const pages = files.filter((file) => /^docs\/.+\/|^docs\/compare/.test(file))

describe('The documents', () => {
  test('have no relative link that leads nowhere', () => {
    assert.ok(files.includes('README.md') && files.includes('docs/README.md') && files.length > 20)
    const broken = files.flatMap((file) => brokenLinks(root, file))
    assert.deepEqual(broken, [])
  })

  test('name no script that package.json lacks', () => {
    const { scripts } = JSON.parse(read('package.json'))
    const named = files.flatMap((file) =>
      [...read(file).matchAll(/npm run ([\w-]+)/g)].map(([, name]) => name ?? ''),
    )
    assert.ok(named.length > 10)
    assert.deepEqual(
      named.filter((name) => !(name in scripts)),
      [],
    )
  })

  test('are listed in the index, except decisions', () => {
    const index = read('docs/README.md')
    const releases = read('docs/reports/benchmark.md').replaceAll('](', '](reports/')
    assert.deepEqual(
      pages.filter(
        (file) => !file.startsWith('docs/decisions/') && !(index + releases).includes(`(${file.slice(5)})`),
      ),
      [],
    )
  })

  test('name the version that they describe, in tutorial and guides', () => {
    const [, version] = /^(\d+\.\d+)\./.exec(JSON.parse(read('package.json')).version) ?? []
    const guides = pages.filter((file) => /^docs\/(tutorial|how-to)\//.test(file))
    assert.ok(guides.length > 10)
    for (const file of guides) assert.ok(read(file).includes(`\nDescribes Latchkey ${version}.\n`), file)
  })

  test('stay short: the README within 150 lines, a guide within 400 words', () => {
    assert.ok(read('README.md').trimEnd().split('\n').length <= 150)
    for (const file of files.filter((file) => file.startsWith('docs/how-to/')))
      assert.ok(read(file).trim().split(/\s+/).length <= 400, file)
  })
})

test('a link to a missing file, to a missing anchor and out of the checkout are broken', async (t) => {
  const folder = await temporaryFolder()
  t.after(() => folder.remove())
  mkdirSync(join(folder.path, 'docs'))
  writeFileSync(join(folder.path, 'a.md'), '# A `b`, c\n\n## Twice\n\n## Twice\n')
  const good =
    '[a](../a.md) [a](../a.md#a-b-c) [t](../a.md#twice-1) [here](#top) [up](..) `[x](y)` [w](https://w.example)'
  const bad = ['b.md', '../a.md#twice-2', '#none', '../../a.md', 'p.png']
  const text = `# Top\n${good}\n${bad
    .slice(0, 4)
    .map((target) => `[x](${target})`)
    .join(' ')}\n![p](p.png)\n\`\`\`md\n[c](c.md)\n\`\`\`\n`
  writeFileSync(join(folder.path, 'docs/page.md'), text)
  assert.deepEqual(
    brokenLinks(folder.path, 'docs/page.md').map(({ target }) => target),
    bad,
  )
})
