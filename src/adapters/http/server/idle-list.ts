/** An item of an `IdleList`, with the links of that list. */
export interface Linked<Item> {
  older: Item | null
  newer: Item | null
  isLinked: boolean
}

/** A doubly linked list from the oldest item to the newest. Adding and removing allocate nothing, on the hot path. */
export class IdleList<Item extends Linked<Item>> {
  #oldest: Item | null = null
  #newest: Item | null = null

  /** Returns the oldest item, or null. */
  first(): Item | null {
    return this.#oldest
  }

  /** Adds the item as the newest one. */
  add(item: Item): void {
    this.remove(item)
    item.older = this.#newest
    if (this.#newest === null) this.#oldest = item
    else this.#newest.newer = item
    this.#newest = item
    item.isLinked = true
  }

  /** Removes the item if it is in the list. */
  remove(item: Item): void {
    if (!item.isLinked) return
    const { older, newer } = item
    if (older === null) this.#oldest = newer
    else older.newer = newer
    if (newer === null) this.#newest = older
    else newer.older = older
    item.older = null
    item.newer = null
    item.isLinked = false
  }
}
