import { closeSync } from 'node:fs'
import { isatty } from 'node:tty'

/** File descriptors of the standard streams that are terminals. */
export function terminals(): readonly number[] {
  return [0, 1, 2].filter((fd) => isatty(fd))
}

/** Whether the terminal behind a descriptor was closed. */
export function isClosedTerminal(fd: number): boolean {
  return !isatty(fd)
}

/**
 * Lets this process exit with its exit code after its terminal was closed. Node restores the mode of each terminal at
 * exit, and aborts (SIGABRT) if one is gone; it skips descriptors that are closed.
 */
export function surviveClosedTerminals(): void {
  const startedFrom = terminals()
  process.on('exit', () => {
    for (const fd of startedFrom.filter(isClosedTerminal)) closeSync(fd)
  })
}
