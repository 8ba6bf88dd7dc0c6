import { resolved } from './reference.js'

/** Returns the variants of a union of objects; none for another schema. */
export function listVariants(api, schema) {
  const variants = schema.anyOf ?? schema.oneOf ?? []
  const isUnion = variants.length > 1 && variants.some((variant) => resolved(api, variant).type === 'object')
  return isUnion ? variants : []
}

/** Returns the name of a variant: its title, its constant property, its component, or its type. */
export function variantName(api, variant) {
  const own = resolved(api, variant)
  const properties = Object.values(own.properties ?? {}).map((property) => resolved(api, property))
  const constant = properties.find((property) => typeof property.const === 'string')?.const
  return own.title ?? constant ?? variant.$ref?.split(/[/.]/).at(-1) ?? own.type ?? 'anything'
}
