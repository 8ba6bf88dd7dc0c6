import type { ReadRow, RefusedRow } from '../../../../src/application/use-cases/import-customers.ts'

/** A row in short: its line, then the problem or the three fields. */
export type Short =
  | readonly [line: number, problem: string]
  | readonly [line: number, email: string, passwordHash: string, name: string | null]

/** Splits a file into chunks of this size, so that tests can put a chunk boundary at every position. */
export async function* inPieces(bytes: Uint8Array | string, size = 65_536): AsyncGenerator<Uint8Array> {
  const whole = Buffer.from(bytes as string)
  for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size)
}

/** Returns all rows of a reader, in short. */
export async function shortOf(rows: AsyncIterable<ReadRow | RefusedRow>): Promise<readonly Short[]> {
  const all: Short[] = []
  for await (const row of rows)
    all.push('problem' in row ? [row.line, row.problem] : [row.line, row.email, row.passwordHash, row.name])
  return all
}
