import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/**
 * The first tier, `npm test`: that the product works. Domain, use cases, the contracts on memory and PostgreSQL, the HTTP
 * surface, one path from end to end for each use case, and the README. Nothing here takes long or depends on elapsed time.
 */
const PRODUCT = [
  'adapters/config/',
  'adapters/http/',
  'adapters/memory/',
  'adapters/postgres/stores.test.ts',
  'application/',
  'domain/',
  'end-to-end/errors.test.ts',
  'end-to-end/first-minute.test.ts',
  'end-to-end/instances.test.ts',
  'end-to-end/named-tokens.test.ts',
  'end-to-end/tokens.test.ts',
  'lib/',
  'readme.test.ts',
]

/** Long tests, and those of one subject in depth, which belong to the second tier. */
const IN_DEPTH = [
  'adapters/config/connection-limit.test.ts',
  'adapters/config/exposures.test.ts',
  'adapters/config/stable-files.test.ts',
  'adapters/http/connection-limit.test.ts',
  'adapters/http/docs-page/',
  'adapters/http/failed-requests.test.ts',
  'adapters/http/half-close.test.ts',
  'adapters/http/openapi/examples.test.ts',
  'adapters/http/own-errors.test.ts',
  'adapters/http/pipelining.test.ts',
  'adapters/http/request-bodies.test.ts',
  'adapters/http/respond.test.ts',
  'adapters/http/responses.test.ts',
  'adapters/http/returned-values.test.ts',
  'adapters/http/stalled-clients.test.ts',
  'adapters/http/upgrade.test.ts',
  'adapters/http/validation.test.ts',
]

/** Models of the protocol: they run thousands of interleavings, for which coverage takes long and finds nothing. */
const MODELS = [
  'application/login-tokens/cluster-model.test.ts',
  'application/login-tokens/revocation-model.test.ts',
  'application/verifiers/verifier-model.test.ts',
]

/** Tests that run the code of `src` mostly in their own process. */
const MODULES = [
  'adapters/',
  'application/',
  'cases/',
  'composition/',
  'contracts/',
  'database.test.ts',
  'domain/',
  'lib/',
  'testing/',
]

/** The tests with which the coverage of domain and application is measured. */
const COVERAGE = [
  'adapters/config/',
  'adapters/http/ops/',
  'adapters/http/sessions.test.ts',
  'adapters/http/verification.test.ts',
  'adapters/memory/',
  'application/',
  'composition/adapters.test.ts',
  'database.test.ts',
  'domain/',
  'end-to-end/verifiers.test.ts',
  'lib/',
  'moving/token-import.test.ts',
]

/** `tests/deploy/installed.test.ts` runs them on the packed package. */
const ON_PACKAGE = ['account', 'argon2', 'mariadb', 'orders', 'redis-throttle', 'shop', 'swagger-ui'].map(
  (name) => `examples/${name}.test.ts`,
)

/** Tests of the sources as text: a separate step of the second tier. */
const SOURCES = [
  'architecture.test.ts',
  'faults.test.ts',
  'package.test.ts',
  'supply-chain.test.ts',
  'security-documents.test.ts',
  '../verification/mutants.test.ts',
]

/**
 * Returns the paths of the test files of a group, in order. `product` is the first tier. `modules`, `programs` and `sources`
 * are the second one, `npm run check`, which also runs those of `coverage` again. The third tier, the proof of reliability,
 * stands in `verification` and has rows instead of test files.
 */
export function testFiles(
  group: 'product' | 'modules' | 'programs' | 'sources' | 'coverage' | 'end-to-end',
): readonly string[] {
  const product = (file: string) => isBelow(file, PRODUCT) && !isBelow(file, [...IN_DEPTH, ...MODELS])
  const isModule = (file: string) => isBelow(file, MODULES) && !isBelow(file, MODELS)
  const sources = (file: string) => isBelow(file, SOURCES)
  const groups = {
    product,
    modules: (file: string) => isModule(file) && !product(file),
    programs: (file: string) =>
      !product(file) && !isModule(file) && !sources(file) && !isBelow(file, ON_PACKAGE),
    sources,
    coverage: (file: string) => isBelow(file, COVERAGE) && !isBelow(file, MODELS),
    'end-to-end': (file: string) => isBelow(file, ['end-to-end/']),
  }
  return ['tests', 'verification']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
        join(folder, file),
      ),
    )
    .filter((file) => file.endsWith('.test.ts') && groups[group](file))
    .sort()
}

function isBelow(file: string, paths: readonly string[]): boolean {
  return paths.some((path) => file.startsWith(join('tests', path)))
}
