/** Returns the value that a `$ref` of the document refers to, or the value itself. */
export function resolved(document, value) {
  let found = value
  for (let hops = 0; found?.$ref !== undefined && hops < 8; hops++) {
    found = found.$ref
      .slice(2)
      .split('/')
      .reduce((node, key) => node?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document)
  }
  return found ?? {}
}

/** Returns the schema without its variant `null`. */
export function withoutNull(document, schema) {
  const own = resolved(document, schema)
  const others = (own.anyOf ?? own.oneOf)?.filter(({ type }) => type !== 'null')
  return others?.length === 1 ? resolved(document, others[0]) : own
}
