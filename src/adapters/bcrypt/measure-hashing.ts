import type { PasswordHasher } from '../../application/ports/password-hasher.ts'

const SAMPLES = 3

/** How long one password takes here while nothing else is done, in milliseconds: the middle of a few. */
export async function measureHashing(passwords: PasswordHasher): Promise<number> {
  const place = passwords.queue(new AbortController().signal)
  const tookMs: number[] = []
  try {
    for (let sample = 0; sample < SAMPLES; sample++) {
      const beganMs = performance.now()
      await place.verify('', null)
      tookMs.push(performance.now() - beganMs)
    }
  } finally {
    place.leave()
  }
  return tookMs.sort((one, other) => one - other)[Math.floor(SAMPLES / 2)] as number
}
