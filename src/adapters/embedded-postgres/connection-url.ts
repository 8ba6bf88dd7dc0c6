/** How to connect to the embedded server. */
export interface ServerAddress {
  /** The folder of the server's socket, or 127.0.0.1. */
  readonly host: string
  readonly port: number
  readonly password: string
}

/**
 * What the driver would otherwise read from `PG` variables of the shell, such as PGSSLMODE: they are meant for another
 * server.
 */
const OWN_PARAMETERS = {
  sslmode: 'disable',
  sslnegotiation: 'postgres',
  client_encoding: 'UTF8',
  replication: 'false',
  options: '-ctimezone=UTC',
}

/** Returns the connection URL of clients; it contains the password. No variable of the shell changes its meaning. */
export function connectionUrl({ host, port, password }: ServerAddress, database = 'latchkey'): string {
  const isSocket = host.includes('/')
  const parameters = new URLSearchParams({ ...(isSocket ? { host } : {}), ...OWN_PARAMETERS })
  return `postgresql://latchkey:${password}@${isSocket ? 'localhost' : host}:${port}/${database}?${parameters}`
}
