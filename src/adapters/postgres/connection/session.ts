/** A query with the name under which the server keeps it prepared. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** A row as the driver reads it. */
export type Row = Readonly<Record<string, unknown>>

/** What a query gave: its rows, and how many rows it read or changed. */
export interface Result {
  readonly rows: readonly Row[]
  readonly count: number
}

/** One connection, lent for a unit of work. Its errors are `Unavailable`, or the driver's own for a bug. */
export interface Session {
  query(statement: Statement, values: readonly unknown[]): Promise<Result>
  /** Runs the work in one READ COMMITTED transaction; a lost reply to its commit is `Unavailable`: outcome unknown. */
  transaction<T>(work: () => Promise<T>): Promise<T>
}
