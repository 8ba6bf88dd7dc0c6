/** A query, and the name of its prepared statement on the server. With an empty name, each execution is planned for its values. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** A row as the driver returns it. */
export type Row = Readonly<Record<string, unknown>>

/** The result of a query: its rows, and the number of rows that it read or changed. */
export interface Result {
  readonly rows: readonly Row[]
  readonly count: number
}

/** One connection for a unit of work. Its methods reject with `Unavailable`, or with the driver's error for a bug. */
export interface Session {
  /** Runs a statement; returns its result. */
  query(statement: Statement, values: readonly unknown[]): Promise<Result>
  /**
   * Runs `work` in one READ COMMITTED transaction and returns its result. Rejects with `Unavailable` when the reply to the
   * commit is lost; the outcome is then unknown.
   */
  transaction<T>(work: () => Promise<T>): Promise<T>
}
