import {
  type Context,
  context,
  ProxyTracerProvider,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { RequestSpan } from '../../application/ports/request-observers.ts'

/** Creates a span for each request. */
export interface Tracing {
  /** Returns the context in which node reports a request. A pipelined request is served later, in that of an earlier one. */
  capture(): unknown
  /** Calls `serve` with the request's span as the active one, the parent of the handlers' spans. */
  serve(request: TracedRequest, captured: unknown, serve: (span: RequestSpan) => void): void
}

interface TracedRequest {
  readonly method?: string | undefined
  readonly headers: object
  /** The id of the response, by which its trace is found. */
  readonly requestId: string
}

/** The methods that OpenTelemetry distinguishes. */
const METHODS = /^(CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT|TRACE)$/
/** Attributes of an instrumented `node:http` that contain what clients send in paths and queries, also of older versions. */
const LEFT_OUT = ['url.path', 'url.query', 'url.full', 'http.target', 'http.url']
const REQUEST_ID = 'http.response.header.x-request-id'

/** Returns tracing by the SDK that was loaded before this program, such as with `node --import`; null without an SDK. */
export function openTelemetryTracing(version: string): Tracing | null {
  const provider = trace.getTracerProvider()
  const tracer =
    provider instanceof ProxyTracerProvider
      ? provider.getDelegateTracer('latchkey', version)
      : provider.getTracer('latchkey', version)
  if (tracer === undefined) return null

  return {
    capture: () => context.active(),
    serve({ method = '', headers, requestId }, captured, serve) {
      const reported = captured as Context
      const known = METHODS.test(method) ? method : '_OTHER'
      const running = trace.getSpan(reported)
      // If node:http is instrumented too, the request already has a span, which ends with its response.
      if (running !== undefined) {
        leaveOutPath(running)
        running.setAttribute(REQUEST_ID, [requestId])
        context.with(reported, () => serve(requestSpan(running, known, () => {})))
        return
      }
      const parent = propagation.extract(ROOT_CONTEXT, headers)
      const attributes = { 'http.request.method': known, 'url.scheme': 'http', [REQUEST_ID]: [requestId] }
      const span = tracer.startSpan(known, { kind: SpanKind.SERVER, attributes }, parent)
      context.with(trace.setSpan(parent, span), () => serve(requestSpan(span, known, () => span.end())))
    },
  }
}

function requestSpan(span: Span, method: string, end: () => void): RequestSpan {
  const { traceId, spanId } = span.spanContext()
  return {
    traceId,
    spanId,
    // At once: an instrumented `node:http` ends its span before the request has ended here.
    match: (route) => void span.updateName(`${method} ${route}`).setAttribute('http.route', route),
    end({ status }) {
      if (status !== null) span.setAttribute('http.response.status_code', status)
      if (status === null || status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      end()
    },
  }
}

/** The API cannot remove an attribute; the spans of the SDK have them in an object. */
function leaveOutPath(span: Span & { readonly attributes?: Record<string, unknown> }): void {
  for (const name of LEFT_OUT) delete span.attributes?.[name]
}
