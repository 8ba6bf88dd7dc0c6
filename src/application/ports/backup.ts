/** The rows of one table in a backup. */
export interface TableReport {
  /** The name of the table, with its schema unless that is the schema of Latchkey's tables. */
  readonly table: string
  /** The number of rows that were written or loaded: 0 of one-time tokens in a restore, which loads none. */
  readonly rows: number
  /** The SHA-256 of these rows as they stand in the file, as hexadecimal digits. */
  readonly sha256: string
}

/** What a backup or a restore did. */
export interface BackupReport {
  readonly tables: readonly TableReport[]
  /** The time of the backup, in ISO 8601. */
  readonly createdAt: string
}

/** The destination of a backup, and its options. */
export interface BackupOptions {
  /** Takes the next bytes; the backup waits for it. */
  write(bytes: Uint8Array): Promise<void>
  /** Tables that are left out although no migration of the program creates them: `table`, `schema.table` or `schema.*`. */
  readonly skip: readonly string[]
}

/** How the data of an earlier major version of the embedded database is upgraded. */
export interface UpgradeOptions {
  /** The folder in which npm has installed the programs of that version. */
  readonly oldBinaries: string
  /** As of a backup. */
  readonly skip: readonly string[]
}

/** What an upgrade did. */
export interface UpgradeReport {
  readonly dataDir: string
  /** The folder of the old data. */
  readonly oldDataDir: string
  /** The major versions. */
  readonly from: string
  readonly to: string
  /** The size of the file that held all rows in between, in bytes: a backup, with its header. */
  readonly bytes: number
  readonly tables: readonly TableReport[]
}

/** The source of a restore, and its options. */
export interface RestoreOptions {
  /** Reads the file from its start. It is read twice: to verify the checksum, and to load the rows. */
  read(): AsyncIterable<Uint8Array>
  /** Called before rows of the database are replaced, not for an empty database. Throws when they must stay. */
  confirm(): Promise<void>
}
