import { route } from '../../src/adapters/http/routing/route.ts'
import { SERVICE_SECRET } from '../../tests/support/running-app.ts'
import { withApp } from '../app.ts'
import type { Row } from '../row.ts'

/** The scope that each service route requires; the last two are a program's own. */
const ROUTES: Readonly<Record<string, string>> = {
  '/api/status': 'status',
  '/ops/live': 'ops',
  '/api/plain': 'routes',
  '/api/reports': 'reports',
}
const SCOPES = Object.values(ROUTES)
const DEFAULT = ['status', 'metrics', 'routes']

/** Every set of scopes, and null for a token without brackets. */
const TOKENS = [null, ...Array.from({ length: 2 ** SCOPES.length - 1 }, (_, at) => at + 1)].map(
  (bits, at) => ({
    scopes: bits === null ? null : SCOPES.filter((_, bit) => (bits >> bit) & 1),
    name: `token-${at}`,
    secret: `${SERVICE_SECRET}-${at}`,
  }),
)

export const scopeRows: readonly Row[] = [
  {
    id: 'E9',
    promise: 'every set of scopes on every JSON service route: 200, or 403 that names the missing scope',
    sizes: { ci: 1, release: 10 },
    mutants: [
      {
        name: 'scopes are not checked',
        file: 'src/application/use-cases/verify-service-token.ts',
        find: 'if (missing.length === 0)',
        replace: 'if (missing.length >= 0)',
      },
      {
        name: 'an unscoped token has the scope ops',
        file: 'src/domain/service-token.ts',
        find: "['status', 'metrics', ROUTES_SCOPE]",
        replace: "['status', 'metrics', 'ops', ROUTES_SCOPE]",
      },
      {
        name: 'a route without scopes requires none',
        file: 'src/adapters/http/routing/declared-route.ts',
        find: '? [ROUTES_SCOPE] : scopes',
        replace: '? [] : scopes',
      },
    ],
    async run(trial) {
      const handle = () => ({})
      const routes = () => [
        route('GET /plain', { auth: 'service', handle }),
        route('GET /reports', { auth: 'service', scopes: ['reports'], handle }),
      ]
      const SERVICE_TOKENS = TOKENS.map(
        ({ name, scopes, secret }) => `${name}${scopes === null ? '' : `[${scopes.join(' ')}]`}=${secret}`,
      ).join(',')
      await withApp(trial, { routes, env: { OPS: 'on', SERVICE_TOKENS } }, async (app) => {
        for (let round = 0; round < trial.size; round++)
          for (const { name, scopes, secret } of TOKENS)
            for (const [path, scope] of Object.entries(ROUTES)) {
              const { status, body } = await app.call(path, { method: 'GET', token: secret })
              const isGranted = (scopes ?? DEFAULT).includes(scope)
              const named = body?.error === `The service token lacks the scope "${scope}".`
              trial.expect(
                isGranted ? status === 200 : status === 403 && named,
                () => `${path} with ${name}[${scopes?.join(' ')}]: ${status}`,
              )
            }
      })
    },
  },
]
