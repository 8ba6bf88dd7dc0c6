import {
  context,
  ProxyTracerProvider,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { RequestSpan } from '../../application/ports/request-observers.ts'

/** Creates a span for each request. */
export interface Tracing {
  /** Calls `serve` with the request's span as the active one, the parent of the handlers' spans. */
  serve(
    request: { readonly method?: string | undefined; readonly headers: object },
    serve: (span: RequestSpan) => void,
  ): void
}

/** The methods that OpenTelemetry distinguishes. */
const METHODS = /^(CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT|TRACE)$/

/** Returns tracing by the SDK that was loaded before this program, such as with `node --import`; null without an SDK. */
export function openTelemetryTracing(version: string): Tracing | null {
  const provider = trace.getTracerProvider()
  const tracer =
    provider instanceof ProxyTracerProvider
      ? provider.getDelegateTracer('latchkey', version)
      : provider.getTracer('latchkey', version)
  if (tracer === undefined) return null

  return {
    serve({ method = '', headers }, serve) {
      const known = METHODS.test(method) ? method : '_OTHER'
      const running = trace.getActiveSpan()
      // If node:http is instrumented too, the request already has a span, to which the route is added.
      if (running !== undefined) return serve(requestSpan(running, known, () => {}))
      const parent = propagation.extract(context.active(), headers)
      const attributes = { 'http.request.method': known, 'url.scheme': 'http' }
      const span = tracer.startSpan(known, { kind: SpanKind.SERVER, attributes }, parent)
      context.with(trace.setSpan(parent, span), () => serve(requestSpan(span, known, () => span.end())))
    },
  }
}

function requestSpan(span: Span, method: string, end: () => void): RequestSpan {
  return {
    traceId: span.spanContext().traceId,
    end({ route, status }) {
      if (route !== null) span.updateName(`${method} ${route}`).setAttribute('http.route', route)
      if (status !== null) span.setAttribute('http.response.status_code', status)
      if (status === null || status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      end()
    },
  }
}
