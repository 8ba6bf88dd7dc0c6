import { METHODS } from 'node:http'
import { route } from '../../src/adapters/http/routing/route.ts'
import { sendRaw } from '../../tests/support/raw-http.ts'
import { SERVICE_SECRET } from '../../tests/support/running-app.ts'
import { withApp } from '../app.ts'
import type { Row } from '../row.ts'

const handle = () => ({})

export const methodRows: readonly Row[] = [
  {
    id: 'C1',
    promise: 'every method of Node on every route and on none: 200, 405 with Allow, 404',
    sizes: { ci: 1, release: 10 },
    mutants: [
      {
        name: 'Allow omits HEAD',
        file: 'src/adapters/http/routing/router.ts',
        find: "methods.includes('GET') ? ['HEAD'] : []",
        replace: '[]',
      },
      {
        name: 'HEAD is not supported',
        file: 'src/adapters/http/routing/router.ts',
        find: "method === 'HEAD' ? 'GET' : method",
        replace: 'method',
      },
      {
        name: 'a missing method counts as a missing path',
        file: 'src/adapters/http/routing/router.ts',
        find: 'throw new MethodNotAllowed(allow)',
        replace: 'throw new NotFound()',
      },
    ],
    async run(trial) {
      const routes = () => [
        route('GET /orders/:id', { auth: 'none', handle }),
        route('PUT /orders/:id', { auth: 'none', handle }),
        route('PATCH /orders/:id', { auth: 'none', handle }),
        route('DELETE /orders/:id', { auth: 'none', handle }),
      ]
      await withApp(trial, { routes }, async (app) => {
        const { email } = await app.addCustomer()
        const paths: Readonly<Record<string, readonly string[]>> = {
          '/api/login': ['POST'],
          '/api/me': ['POST'],
          '/api/logout': ['POST'],
          '/api/status': ['GET'],
          '/livez': ['GET'],
          '/readyz': ['GET'],
          '/api/orders/1': ['GET', 'PUT', 'PATCH', 'DELETE'],
          '/api/nothing': [],
        }
        for (let round = 0; round < trial.size; round++) {
          for (const [path, methods] of Object.entries(paths)) {
            const allow = [...methods, 'OPTIONS', ...(methods.includes('GET') ? ['HEAD'] : [])].sort()
            for (const method of METHODS) {
              // The target of CONNECT has another form. The row on framing covers it.
              if (method === 'CONNECT') continue
              const token = path === '/api/status' ? SERVICE_SECRET : await app.login(email)
              const body = path === '/api/login' ? JSON.stringify({ email, password: 'correct horse 9' }) : ''
              const type = body === '' ? '' : 'Content-Type: application/json\r\n'
              const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n${type}`
              const bytes = `${head}Content-Length: ${body.length}\r\n\r\n${body}`
              const { responses } = await sendRaw(app.port, bytes, { responses: 1, head: method === 'HEAD' })
              const status =
                methods.length === 0 ? 404 : !allow.includes(method) ? 405 : method === 'OPTIONS' ? 204 : 200
              const shown = responses[0]?.headers.find(([name]) => name === 'Allow')?.[1]
              const shows = status === 405 || status === 204 ? allow.join(', ') : undefined
              trial.expect(
                responses[0]?.status === status && shown === shows,
                () =>
                  `${method} ${path}: ${responses[0]?.status} with Allow ${shown}, not ${status} with ${shows}`,
              )
            }
          }
        }
      })
    },
  },
]
