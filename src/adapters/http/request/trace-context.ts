/** The format with which every version begins (W3C Trace Context, section 3.2). Later versions may append to it. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/

/** Returns the trace id of a `traceparent` header, or null when the header is missing or invalid. */
export function parseTraceId(header: string | string[] | undefined): string | null {
  if (typeof header !== 'string') return null
  const [, version, traceId = '', parentId = '', rest] = TRACEPARENT.exec(header) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null
  return isZero(traceId) || isZero(parentId) ? null : traceId
}

function isZero(id: string): boolean {
  return /^0+$/.test(id)
}
