/**
 * Whether the granted abilities cover the required one. `*` covers everything, and `orders:*` covers everything under
 * `orders:`; otherwise the words must be equal, including case.
 */
export function covers(granted: readonly string[], required: string): boolean {
  return granted.some(
    (ability) =>
      ability === '*' ||
      ability === required ||
      (ability.endsWith(':*') && required.startsWith(ability.slice(0, -1))),
  )
}

/** Whether every required ability is covered. An empty grant covers nothing; an empty requirement is always covered. */
export function coversAll(granted: readonly string[], required: readonly string[]): boolean {
  return required.every((ability) => covers(granted, ability))
}

/** Whether a text is one ability: a word such as `orders:read`, `orders:*` or `*`. */
export function isAbility(text: string): boolean {
  return /^(\*|[A-Za-z0-9_.-]+(:[A-Za-z0-9_.-]+)*(:\*)?)$/.test(text)
}
