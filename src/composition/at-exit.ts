const callbacks = new Set<() => void>()

/**
 * Calls back when the process exits. Returns a function that cancels the call. One listener serves every service of the
 * process, because node warns of a leak when an event has more than ten.
 */
export function atExit(call: () => void): () => void {
  if (callbacks.size === 0) process.on('exit', callAll)
  callbacks.add(call)
  return () => {
    callbacks.delete(call)
    if (callbacks.size === 0) process.off('exit', callAll)
  }
}

function callAll(): void {
  for (const call of callbacks) call()
}
