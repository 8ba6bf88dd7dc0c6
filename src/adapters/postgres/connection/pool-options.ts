/** An event of the pool, for the log. */
export interface DatabaseEvent {
  readonly kind: 'connection_lost' | 'standby_refused' | 'read_only' | 'disk_full'
  readonly detail: string
}

/** The options of a pool. */
export interface PoolOptions {
  /** `postgres://` URL of the database, or of a pooler in front of it. */
  readonly url: string
  /** The largest number of connections. */
  readonly max: number
  /** False for a pooler that breaks prepared statements. */
  readonly prepared: boolean
  /** Called for each event, such as a lost connection. */
  readonly onEvent: (event: DatabaseEvent) => void
}
