import { hostname, userInfo } from 'node:os'
import type { CommandActor } from '../../application/ports/audit-log.ts'

/** Returns who runs this process, for the events of `command`, the words of a command without its arguments. */
export function commandActor(command: string, env: NodeJS.ProcessEnv = process.env): CommandActor {
  const { SUDO_USER: sudoUser } = env
  return {
    osUser: accountName(),
    ...(sudoUser === undefined || sudoUser === '' ? {} : { sudoUser }),
    host: hostname(),
    command,
  }
}

/** A container may run under an id that has no name. */
function accountName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
