/** The random part of a run: delays, and which calls fail. The same seed repeats it. */
export interface Chance {
  /** From 0 up to 1. */
  random(): number
  /** A message delay without congestion, in milliseconds. */
  shortly(): number
  /** A delay that is mostly short, sometimes long, rarely very long. */
  travelling(): number
  /** Whether calls no longer fail and are no longer late. */
  isCalm: boolean
}

export function createChance(seed: number): Chance {
  const random = generator(seed)
  const chance: Chance = {
    random,
    shortly: () => 0.1 + random() * 2,
    travelling() {
      const course = chance.isCalm ? 0 : random()
      return course < 0.7 ? chance.shortly() : random() * (course < 0.85 ? 50 : course < 0.94 ? 500 : 2000)
    },
    isCalm: false,
  }
  return chance
}

/** Numbers from 0 up to 1 (mulberry32). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
