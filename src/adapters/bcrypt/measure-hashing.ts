import type { PasswordHasher } from '../../application/ports/password-hasher.ts'

const SAMPLES = 3

/** Measures how long the verification of one password takes on an idle process: the median, in milliseconds. */
export async function measureHashing(passwords: PasswordHasher): Promise<number> {
  const slot = passwords.queue({
    source: '',
    account: '',
    isKnown: true,
    signal: new AbortController().signal,
  })
  const durationsMs: number[] = []
  try {
    for (let sample = 0; sample < SAMPLES; sample++) {
      const startMs = performance.now()
      await slot.verify('', null)
      durationsMs.push(performance.now() - startMs)
    }
  } finally {
    slot.leave()
  }
  return durationsMs.sort((one, other) => one - other)[Math.floor(SAMPLES / 2)] as number
}
