const FIRST_CAPACITY = 1024

/** Digests by their first 64 bits: eight bytes each, and no two of a million share them by chance (1 in 10^7). */
export class DigestSet {
  #digests = new BigUint64Array(FIRST_CAPACITY)
  #size = 0
  #isSorted = true

  add(digest: string): void {
    if (this.#size === this.#digests.length) {
      const larger = new BigUint64Array(this.#size * 2)
      larger.set(this.#digests)
      this.#digests = larger
    }
    this.#digests[this.#size++] = toBits(digest)
    this.#isSorted = false
  }

  has(digest: string): boolean {
    if (!this.#isSorted) this.#digests.subarray(0, this.#size).sort()
    this.#isSorted = true
    const wanted = toBits(digest)
    let low = 0
    for (let high = this.#size; low < high; ) {
      const middle = (low + high) >>> 1
      if ((this.#digests[middle] as bigint) < wanted) low = middle + 1
      else high = middle
    }
    return low < this.#size && this.#digests[low] === wanted
  }

  size(): number {
    return this.#size
  }
}

function toBits(digest: string): bigint {
  return BigInt(`0x${digest.slice(0, 16)}`)
}
