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
