/** Signals that a terminal or a process manager sends to a whole process group. */
const GROUP_SIGNALS: readonly unknown[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * Whether a detached program was ended by a signal before it ran. Between fork and its own session, a child still belongs
 * to the service's process group, so that Ctrl-C reaches it. PostgreSQL's programs handle these signals themselves, and
 * exit with a code.
 */
export function isEarlySignal(signal: NodeJS.Signals | null): boolean {
  return GROUP_SIGNALS.includes(signal)
}
