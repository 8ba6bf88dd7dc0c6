import type * as v from 'valibot'

/** Returns the fields of an object schema; none for other schemas. */
export function objectEntries(schema: v.GenericSchema | null): v.ObjectEntries {
  const isObject = schema !== null && /^((strict|loose)_)?object(_with_rest)?$/.test(schema.type)
  return isObject && 'entries' in schema ? (schema.entries as v.ObjectEntries) : {}
}

/** Returns the schema inside of optional and nullable ones. */
export function unwrap(schema: v.GenericSchema): v.GenericSchema {
  return 'wrapped' in schema ? unwrap(schema.wrapped as v.GenericSchema) : schema
}

/** Returns the names of the fields that are lists. */
export function listFields(schema: v.GenericSchema | null): readonly string[] {
  return Object.entries(objectEntries(schema))
    .filter(([, field]) => unwrap(field as v.GenericSchema).type === 'array')
    .map(([name]) => name)
}

/** Returns the names of the fields of an object schema; none for other schemas. */
export function fieldNames(schema: v.GenericSchema | null): readonly string[] {
  return Object.keys(objectEntries(schema))
}

/** Whether the field is a bigint without a pipe, which may transform it. */
export function isBigint(field: v.GenericSchema): boolean {
  return unwrap(field).type === 'bigint' && !('pipe' in unwrap(field))
}

/** Returns false for types that no text can be, such as a number. A parameter of a query may be a list of texts. */
export function takesText(schema: v.GenericSchema, mayRepeat: boolean): boolean {
  const inner = unwrap(schema)
  if (mayRepeat && inner.type === 'array')
    return takesText((inner as v.ArraySchema<v.GenericSchema, undefined>).item, false)
  return !/^(number|boolean|bigint|date|array|tuple|record|map|set|(strict_|loose_)?object)$/.test(inner.type)
}
