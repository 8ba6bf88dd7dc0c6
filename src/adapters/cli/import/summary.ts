/** The rows of an import by their outcome. */
export interface Tally {
  added: number
  alreadyThere: number
  refused: number
}

/** Returns the summary for programs. */
export function toJsonSummary({ added, alreadyThere, refused }: Tally, isDryRun: boolean): object {
  return { dry_run: isDryRun, added, already_there: alreadyThere, refused }
}

/** Returns the summary as a line of text. */
export function formatSummary({ added, alreadyThere, refused }: Tally, isDryRun: boolean): string {
  const rest = `already there: ${alreadyThere}, refused: ${refused}`
  return isDryRun ? `Dry run, nothing changed. New: ${added}, ${rest}.\n` : `Imported: ${added}, ${rest}.\n`
}
