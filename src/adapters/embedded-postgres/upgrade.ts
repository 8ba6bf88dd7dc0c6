/** A data folder with two servers: the old one with the data, and a new, empty one of the current major version. */
export interface Upgrade {
  readonly dataDir: string
  /** The major versions. */
  readonly from: string
  readonly to: string
  readonly oldUrl: string
  readonly newUrl: string
  /** A file in the data folder for the rows. It is removed at the end, or at the next start. */
  readonly rowsFile: string
  /** Stops both servers and puts the new cluster in the place of the old one; returns the folder that keeps the old one. */
  finish(): Promise<string>
  /** Stops the servers, removes an unfinished cluster and releases the folder. */
  close(): Promise<void>
}
