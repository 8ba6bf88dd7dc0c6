import type { SkippedRow } from '../../../application/management/token-rows.ts'

/** The rows of an import by their outcome. */
export interface TokenTally {
  added: number
  alreadyThere: number
  refused: number
  /** The number of tokens that the other system no longer has; null when they were not compared. */
  revoked: number | null
  readonly skipped: Partial<Record<SkippedRow['skipped'], number>>
}

/** Returns the summary for programs. */
export function toJsonTally(
  { added, alreadyThere, refused, revoked, skipped }: TokenTally,
  isDryRun: boolean,
): object {
  return { dry_run: isDryRun, added, already_there: alreadyThere, refused, revoked, skipped }
}

/** Returns the summary as a line of text. */
export function formatTally(
  { added, alreadyThere, refused, revoked, skipped }: TokenTally,
  isDryRun: boolean,
): string {
  const counts = [
    `${isDryRun ? 'New' : 'Imported'}: ${added}`,
    `already there: ${alreadyThere}`,
    ...Object.entries(skipped).map(([reason, count]) => `skipped as ${reason.replace('_', ' ')}: ${count}`),
    `refused: ${refused}`,
    ...(revoked === null ? [] : [`${isDryRun ? 'to revoke' : 'revoked'}: ${revoked}`]),
  ]
  return `${isDryRun ? 'Dry run, nothing changed. ' : ''}${counts.join(', ')}.\n`
}
