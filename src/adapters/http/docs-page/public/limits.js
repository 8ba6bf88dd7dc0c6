/** Keywords of JSON Schema, and their limits in words. */
const LIMITS = {
  format: (format) => format,
  pattern: (pattern) => `/${pattern}/`,
  minimum: (least) => `≥ ${least}`,
  exclusiveMinimum: (bound) => `> ${bound}`,
  maximum: (most) => `≤ ${most}`,
  exclusiveMaximum: (bound) => `< ${bound}`,
  multipleOf: (step) => `multiple of ${step}`,
  minLength: (least) => `length ≥ ${least}`,
  maxLength: (most) => `length ≤ ${most}`,
  minItems: (least) => `${least} or more`,
  maxItems: (most) => `at most ${most}`,
  uniqueItems: (isUnique) => (isUnique ? 'unique' : undefined),
}

/** Returns the format and the limits of a schema, in words. */
export function describeLimits(schema) {
  return Object.entries(LIMITS)
    .filter(([keyword]) => schema[keyword] !== undefined)
    .map(([keyword, describe]) => describe(schema[keyword]))
    .filter((words) => words !== undefined)
}
