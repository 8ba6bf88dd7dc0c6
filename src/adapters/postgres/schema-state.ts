/** How far a database is from the migrations of a set. Names are in order. */
export interface SchemaState {
  /** The migrations of the set that the database lacks. */
  readonly pending: readonly string[]
  /** The migrations of a newer version, on whose schema this version works. */
  readonly newer: readonly string[]
}
