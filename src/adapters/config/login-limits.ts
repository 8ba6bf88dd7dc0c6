import * as v from 'valibot'
import type { LoginLimit } from '../../domain/login-limit.ts'
import { duration } from './durations.ts'

/** `<failures>/<duration>`, or null for `off`. */
export function loginLimit(most: number) {
  const message = `Must be off, or <failures>/<duration> with 1 to ${most} failures, such as 10/15m.`
  return v.pipe(
    v.string(),
    v.rawTransform<string, LoginLimit | null>(({ dataset, addIssue, NEVER }) => {
      if (dataset.value === 'off') return null
      const [, failures = '', time = ''] = /^(\d+)\/(.*)$/s.exec(dataset.value) ?? []
      const window = v.safeParse(duration, time)
      const count = Number(failures)
      if (window.success && count >= 1 && count <= most) return { failures: count, windowMs: window.output }
      addIssue({ message })
      return NEVER
    }),
  )
}
