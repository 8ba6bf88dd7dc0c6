/** Returns a sentence with the command that gives a folder to an account. */
export function chownCommand(path: string, uid: number, gid = uid): string {
  return `Run as root: chown -R ${uid}:${gid} ${quoted(path)}`
}

/** Returns a sentence with the command that closes a folder to other accounts. */
export function chmodCommand(path: string): string {
  return `Run: chmod -R u+rwX,go-rwx ${quoted(path)}`
}

function quoted(path: string): string {
  return /^[\w/.-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
