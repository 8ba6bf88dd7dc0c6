import { ValidationFailed } from '../../domain/errors.ts'

/** Throws `ValidationFailed` for a problem of the field; null is no problem. */
export function requireValid(field: string, problem: string | null): void {
  if (problem !== null) throw new ValidationFailed({ [field]: [problem] })
}
