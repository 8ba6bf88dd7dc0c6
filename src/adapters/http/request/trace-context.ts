/** The form that every version begins with (W3C Trace Context, section 3.2); what follows is for later versions. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/

/** The trace id of a `traceparent` header; null where it is missing or not valid, which is the same. */
export function parseTraceId(header: string | string[] | undefined): string | null {
  if (typeof header !== 'string') return null
  const [, version, traceId = '', parentId = '', rest] = TRACEPARENT.exec(header) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null
  return isZero(traceId) || isZero(parentId) ? null : traceId
}

function isZero(id: string): boolean {
  return /^0+$/.test(id)
}
