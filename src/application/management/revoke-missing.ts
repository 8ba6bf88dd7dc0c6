import type { ForeignForm } from '../../domain/foreign-token.ts'
import type { Digest } from '../../domain/login-token.ts'
import type { Deadline } from '../deadline.ts'
import type { ImportedTokens } from '../ports/imported-tokens.ts'
import type { Ports } from '../ports/ports.ts'

/** A set of digests that needs little memory. */
export interface SyncedTokens {
  add(digest: Digest): void
  has(digest: Digest): boolean
  size(): number
}

const PAGE = 1000

/** Revokes every token of the form that is not in the set; returns their number once every instance has applied it. */
export async function revokeMissing(
  {
    store,
    invalidations,
    clock,
  }: { readonly store: ImportedTokens } & Pick<Ports, 'invalidations' | 'clock'>,
  form: ForeignForm,
  present: SyncedTokens,
  { isDryRun, deadline }: { readonly isDryRun: boolean; readonly deadline: () => Deadline },
): Promise<number> {
  let missing = 0
  let after: string | null = null
  for (;;) {
    const page: { after: string | null; limit: number } = { after, limit: PAGE }
    const tokens = await deadline().run((timeoutMs) => store.listUnrevoked(form, page, timeoutMs))
    const ids = tokens.filter(({ digest }) => !present.has(digest)).map(({ id }) => id)
    missing += ids.length
    if (ids.length > 0 && !isDryRun)
      await deadline().run((timeoutMs) => store.revokeMany(ids, clock.nowMs(), timeoutMs))
    after = tokens.at(-1)?.id ?? null
    if (tokens.length < PAGE) break
  }
  // Also when it revoked none: an earlier run may have ended before every instance had applied its revocations.
  if (!isDryRun) await invalidations.publish({ kind: 'everything' })
  return missing
}
