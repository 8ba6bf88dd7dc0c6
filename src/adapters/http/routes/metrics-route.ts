import { FileResponse } from '../response/file-response.ts'
import { declareRoute, type Route } from '../routing/declared-route.ts'

/** The metrics as a text of a type of its own; behind a service token unless the listener is nobody else's. */
export function metricsRoute(
  auth: 'service' | 'none',
  read: () => Promise<{ readonly text: string; readonly contentType: string }>,
): Route {
  return declareRoute('', 'GET /metrics', {
    auth,
    summary: 'The metrics, for Prometheus',
    tags: ['Service'],
    async handle() {
      const { text, contentType } = await read()
      return new FileResponse(Buffer.from(text), contentType)
    },
  })
}
