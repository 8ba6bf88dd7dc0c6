import { FileResponse } from '../response/file-response.ts'
import { declareRoute, type Route } from '../routing/declared-route.ts'

/** Returns the route of the metrics, as text. Use `auth: 'none'` only on a listener that serves nothing else. */
export function metricsRoute(
  auth: 'service' | 'none',
  read: () => Promise<{ readonly text: string; readonly contentType: string }>,
): Route {
  return declareRoute('', 'GET /metrics', {
    auth,
    scopes: auth === 'service' ? ['metrics'] : [],
    summary: 'The metrics, for Prometheus',
    tags: ['Service'],
    async handle() {
      const { text, contentType } = await read()
      return new FileResponse(Buffer.from(text), contentType)
    },
  })
}
