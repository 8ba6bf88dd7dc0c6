import type * as v from 'valibot'
import { FORMAT_WORDS, JSON_TYPES, TYPE_WORDS, UNIT_WORDS } from './issue-words.ts'

/** A problem of a field for programs: a stable code, with the limit or the allowed values. */
export interface Problem {
  readonly sentence: string
  readonly detail: Readonly<Record<string, unknown>> & { readonly code: string }
}

/** Describes an issue from the schema alone: the validator's own messages repeat the input. */
export function describeIssue(issue: v.BaseIssue<unknown>): Problem {
  const { kind, type, expected, input, requirement } = issue
  if (type === 'strict_object' && expected === 'never') return problem('Is not a known field.', 'unknown')
  if (kind === 'schema' && input === undefined) return problem('Is required.', 'required')
  const allowed = kind === 'schema' ? literals(expected) : null
  if (allowed !== null) return oneOf(allowed)
  return byLimit(type, requirement) ?? byType(type, expected) ?? byFormat(type, requirement) ?? NOT_VALID
}

const NOT_VALID = problem('Is not valid.', 'invalid')

function problem(sentence: string, code: string, fields: Readonly<Record<string, unknown>> = {}): Problem {
  return { sentence, detail: { code, ...fields } }
}

function oneOf(allowed: readonly unknown[]): Problem {
  const [only, ...others] = allowed
  const sentence = others.length === 0 ? `Must be ${String(only)}.` : `Must be one of ${allowed.join(', ')}.`
  return problem(sentence, 'one_of', { allowed: toJson(allowed) })
}

function byLimit(type: string, requirement: unknown): Problem | null {
  const limit = toJson(requirement)
  if (type === 'non_empty') return problem('Must not be empty.', 'min_length', { min: 1 })
  if (type === 'multiple_of') return problem(`Must be a multiple of ${limit}.`, type, { multiple_of: limit })
  if (type === 'value') return oneOf([limit])
  if (type === 'values') return oneOf(limit as readonly unknown[])
  if (type === 'min_value') return problem(`Must be at least ${limit}.`, type, { min: limit })
  if (type === 'max_value') return problem(`Must be at most ${limit}.`, type, { max: limit })
  const exclusive = { exclusive: true }
  if (type === 'gt_value')
    return problem(`Must be greater than ${limit}.`, 'min_value', { min: limit, ...exclusive })
  if (type === 'lt_value')
    return problem(`Must be less than ${limit}.`, 'max_value', { max: limit, ...exclusive })
  const [, bound, unit = ''] = /^(?:(min|max)_)?(length|size|bytes|graphemes|words|entries)$/.exec(type) ?? []
  if (unit === '') return null
  if (bound === undefined)
    return problem(`Must have ${UNIT_WORDS[unit]} of ${limit}.`, type, { min: limit, max: limit })
  const words = bound === 'min' ? 'at least' : 'at most'
  return problem(`Must have ${UNIT_WORDS[unit]} of ${words} ${limit}.`, type, { [bound]: limit })
}

/** Returns the value as JSON can have it. */
function toJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value === 'bigint') return String(value)
  return value instanceof Date ? value.toISOString() : value
}

function byType(type: string, expected: string | null): Problem | null {
  const names = type === 'union' ? unionTypes(expected) : [JSON_TYPES[type] ?? type]
  const sentences = names?.map((name) => TYPE_WORDS[name])
  if (names === null || sentences === undefined || sentences.includes(undefined)) return null
  return problem(`Must be ${sentences.join(' or ')}.`, 'type', {
    type: names.length === 1 ? names[0] : names,
  })
}

function byFormat(type: string, requirement: unknown): Problem | null {
  const text = String(requirement)
  if (type === 'regex' && requirement instanceof RegExp)
    return problem(`Must match the pattern ${requirement.source}.`, 'format', { pattern: requirement.source })
  if (type === 'starts_with') return problem(`Must start with ${text}.`, 'format', { format: type })
  if (type === 'ends_with') return problem(`Must end with ${text}.`, 'format', { format: type })
  if (type === 'includes') return problem(`Must contain ${text}.`, 'format', { format: type })
  const words = FORMAT_WORDS[type]
  return words === undefined ? null : problem(`Must be ${words}.`, 'format', { format: type })
}

/** Returns the allowed values if the schema expects only such values, as in `("red" | 2 | null)`; otherwise null. */
function literals(expected: string | null): readonly unknown[] | null {
  const parts = split(expected)
  if (parts.length === 0 || parts.every((part) => part === 'null')) return null
  const isValue = (part: string) => /^(".*"|-?\d+(\.\d+)?(e[+-]?\d+)?|true|false|null)$/s.test(part)
  if (!parts.every(isValue)) return null
  // The validator does not escape text.
  return parts.map((part) => (part.startsWith('"') ? part.slice(1, -1) : JSON.parse(part)))
}

function unionTypes(expected: string | null): readonly string[] | null {
  const names = split(expected).map((part) => part.toLowerCase())
  return names.length === 0 ? null : [...new Set(names)]
}

function split(expected: string | null): readonly string[] {
  const inner = /^\((.*)\)$/s.exec(expected ?? '')?.[1] ?? expected ?? ''
  return inner === '' ? [] : inner.split(' | ')
}
