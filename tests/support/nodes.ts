import { spawnSync } from 'node:child_process'

/** The supported lines of Node. */
const SUPPORTED = ['20', '22', '24', '26']

/** A release of Node on which a test runs. `path` is null if none of that line is there, and the test is skipped. */
export interface NodeRelease {
  readonly name: string
  readonly path: string | null
}

/**
 * Returns a release of every supported line of Node: one that `TEST_NODES` names, paths with colons between them, or the one
 * that runs these tests.
 */
export function findNodes(): readonly NodeRelease[] {
  const paths = [...(process.env.TEST_NODES ?? '').split(':').filter(Boolean), process.execPath]
  const given = paths.map((path) => ({ path, version: versionOf(path) }))
  return SUPPORTED.map((name) => {
    const found = given.find(({ version }) => version.startsWith(`v${name}.`))
    if (found === undefined)
      process.stderr.write(`WARNING: NOT TESTED on Node ${name}: TEST_NODES names none.\n`)
    return { name: `Node ${found?.version.slice(1) ?? name}`, path: found?.path ?? null }
  })
}

function versionOf(path: string): string {
  const { stdout, error } = spawnSync(path, ['--version'], { encoding: 'utf8' })
  if (error !== undefined) throw error
  return stdout.trim()
}
