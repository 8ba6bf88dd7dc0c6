const never = new Int32Array(new SharedArrayBuffer(4))

/** Blocks the thread for `ms` milliseconds. */
export function sleepSync(ms: number): void {
  Atomics.wait(never, 0, 0, ms)
}
