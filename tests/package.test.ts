import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, test } from 'node:test'

interface Locked {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const root = join(import.meta.dirname, '..')
/** The package, and the benchmark with its separate dependency tree. */
const trees = ['', 'bench/']
const kinds = ['dependencies', 'devDependencies', 'optionalDependencies'] as const
const EXAMPLES = ['account', 'argon2', 'mariadb', 'orders', 'redis-throttle', 'shop', 'sqlite', 'swagger-ui']
const manifest = JSON.parse(read('package.json'))

for (const tree of trees) {
  const { name, ...declaring } = JSON.parse(read(`${tree}package.json`))
  const lockText = read(`${tree}package-lock.json`)
  const lock: { readonly packages: Readonly<Record<string, Locked>> } = JSON.parse(lockText)
  const declared: readonly [name: string, version: string][] = kinds.flatMap((kind) =>
    Object.entries<string>(declaring[kind] ?? {}),
  )

  describe(`The dependencies of ${name}`, () => {
    test('are pinned to one exact version', () => {
      assert.ok(declared.length > 0)
      assert.deepEqual(
        declared.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)),
        [],
      )
    })

    test('are declared once', () => {
      const names = declared.map(([name]) => name)
      assert.deepEqual(
        names.filter((name, at) => names.indexOf(name) !== at),
        [],
      )
    })

    test('are locked at their declared versions', () => {
      const own = lock.packages['']
      const locked = { ...own?.dependencies, ...own?.devDependencies, ...own?.optionalDependencies }
      assert.deepEqual(locked, Object.fromEntries(declared))
      for (const [name, version] of declared) {
        assert.equal(lock.packages[`node_modules/${name}`]?.version, version, name)
      }
    })

    test('come from the configured registry, because the lock names no address', () => {
      const entries = Object.entries(lock.packages)
      assert.deepEqual(
        entries.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path),
        [],
      )
      assert.doesNotMatch(lockText, /"resolved"|https?:[/][/]registry/)
    })

    test('have a checksum each', () => {
      const entries = Object.entries(lock.packages).filter(([path]) => path !== '')
      assert.ok(entries.length > 0)
      assert.deepEqual(
        entries.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path),
        [],
      )
    })
  })
}

describe('The examples', () => {
  for (const example of [...EXAMPLES, 'clients/typescript']) {
    test(`use the versions that this package is tested with: ${example}`, () => {
      const { dependencies, devDependencies } = JSON.parse(read(`examples/${example}/package.json`))
      const ours = { ...manifest.dependencies, ...manifest.devDependencies, latchkey: manifest.version }
      for (const [name, version] of Object.entries<string>({ ...dependencies, ...devDependencies })) {
        if (name in ours) assert.equal(version, ours[name], name)
        else assert.match(version, /^\d+\.\d+\.\d+$/, name)
      }
    })
  }

  for (const example of EXAMPLES)
    test(`import only their dependencies and the entries of the package: ${example}`, () => {
      const { dependencies } = JSON.parse(read(`examples/${example}/package.json`))
      const files = filesBelow(`examples/${example}`).filter((file) => file.endsWith('.ts'))
      const imported = files.flatMap((file) =>
        [...read(file).matchAll(/ from '([^']+)'/g)].map(([, name = '']) =>
          name.startsWith('.') ? posix.join(posix.dirname(file), name) : name,
        ),
      )
      assert.ok(imported.length > 0)
      const entries = Object.keys(manifest.exports).map((entry) => posix.join('latchkey', entry))
      const packages = Object.keys(dependencies).filter((name) => name !== 'latchkey')
      const allowed = new Set([...files, ...entries, ...packages])
      const isAllowed = (name: string) =>
        allowed.has(name) || packages.some((dependency) => name.startsWith(`${dependency}/`))
      assert.deepEqual(
        imported.filter((name) => !name.startsWith('node:') && !isAllowed(name)),
        [],
      )
    })
})

describe('The package', () => {
  test('runs on Node 20.19 and newer', () => assert.equal(manifest.engines.node, '>=20.19.0'))

  test('is an ES module without install scripts', () => {
    assert.equal(manifest.type, 'module')
    assert.equal(manifest.private, undefined)
    const scripts = Object.keys(manifest.scripts)
    assert.deepEqual(
      scripts.filter((name) => /install|^prepare$/.test(name)),
      [],
    )
  })

  test('exports exactly the entries of src/package, each with its types', () => {
    const entries = filesBelow('src/package').map((file) => file.slice('src/package/'.length, -'.ts'.length))
    assert.ok(entries.length > 0)
    const exported = entries.map((entry) => [
      entry === 'index' ? '.' : `./${entry}`,
      { types: `./dist/package/${entry}.d.ts`, default: `./dist/package/${entry}.js` },
    ])
    assert.deepEqual(manifest.exports, {
      ...Object.fromEntries(exported),
      './package.json': './package.json',
    })
  })

  test('is under the licence in LICENSE', () => {
    assert.equal(manifest.license, 'MIT')
    assert.match(read('LICENSE'), /^MIT License\n\nCopyright \(c\) \d{4} the Latchkey authors\n/)
  })

  test('has a changelog with its version', () => {
    assert.match(read('CHANGELOG.md'), new RegExp(`^## \\[(Unreleased|${manifest.version})\\]`, 'm'))
  })
})

describe('The entries of the package', () => {
  for (const entry of filesBelow('src/package'))
    test(`${entry} loads and has exports`, async () => {
      assert.notDeepEqual(Object.keys(await import(join(root, entry))), [])
    })
})

describe('The repository', () => {
  const documents = readdirSync(root).filter((name) => /\.md$|^\.env\.example$|^package\.json$/.test(name))
  const written = [
    ...documents,
    ...['src', 'bin', 'sql', 'docs', 'tests', 'bench', 'examples'].flatMap((folder) => filesBelow(folder)),
  ]

  test('does not mention the place and the task of its writing', () => {
    const foreign: readonly RegExp[] = [
      /\bissues? ?#?\d/i,
      /\b(fix(es|ed)?|close[sd]?|see) #\d/i,
      /[/]work[/]/,
      /[.][.][/]shared\b/,
      /\bregistry[.][a-z]/,
    ]
    assert.ok(written.length > 0)
    const found = written.flatMap((file) => {
      const text = read(file)
      return foreign.filter((pattern) => pattern.test(text)).map((pattern) => `${file}: ${pattern}`)
    })
    assert.deepEqual(found, [])
  })
})

function filesBelow(folder: string): readonly string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
  } catch {
    return []
  }
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
