import type { DataFolder } from './data-folder.ts'

/** The environment of the server's programs, without the operator's locale, time zone and PG variables. */
export const SERVER_ENV = { LC_ALL: 'C', TZ: 'UTC' }

/** Spawn options that make a child run as the server's account. */
export function accountIdentity({ account }: DataFolder): { uid?: number; gid?: number } {
  return account === undefined ? {} : { uid: account.uid, gid: account.gid }
}

/** Returns the server's arguments. `port` is undefined when it listens on a socket in the cluster's folder. */
export function serverArguments(cluster: string, startedBy: string, port: number | undefined): string[] {
  const settings = {
    listen_addresses: port === undefined ? '' : '127.0.0.1',
    // Relative to the cluster's folder, so that no character of its path needs quoting.
    unix_socket_directories: port === undefined ? '.' : '',
    unix_socket_permissions: '0700',
    port: String(port ?? 5432),
    password_encryption: 'scram-sha-256',
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // Statement errors may quote values; the log is only about the server itself.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    logging_collector: 'off',
    'latchkey.started_by': startedBy,
  }
  return ['-D', cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}
