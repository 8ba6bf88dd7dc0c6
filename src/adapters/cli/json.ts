/** A list that is printed page by page: as a table, or as one JSON document. */
export interface Listing<Item> {
  page(items: readonly Item[]): string
  /** Ends the list. A JSON document also gets the fields of `more`. */
  end(more?: object): string
}

/** The flag of every command that prints a result. */
export interface JsonFlag {
  readonly json?: boolean
}

/** Returns one JSON document as text. The keys of every document are a stable interface and are never renamed. */
export function toJsonDocument(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** Returns the result of a command as one JSON document with the flag, and as a sentence without it. */
export function toResult({ json = false }: JsonFlag, document: object, sentence: string): string {
  return json ? toJsonDocument(document) : `${sentence}\n`
}

/** Lists items as `{ "<name>": [ … ] }`, with one item a line. */
export function jsonListing<Item>(name: string, toFields: (item: Item) => object): Listing<Item> {
  let isFirst = true
  return {
    page(items) {
      const lines = items.map((item) => `    ${JSON.stringify(toFields(item))}`)
      const start = isFirst ? `{\n  ${JSON.stringify(name)}: [\n` : ',\n'
      if (items.length === 0) return ''
      isFirst = false
      return start + lines.join(',\n')
    },
    end(more = {}) {
      const fields = Object.entries(more).map(
        ([key, value]) => `,\n  ${JSON.stringify(key)}: ${JSON.stringify(value)}`,
      )
      const list = isFirst ? `{\n  ${JSON.stringify(name)}: []` : '\n  ]'
      return `${list}${fields.join('')}\n}\n`
    },
  }
}

/** Lists items in a table. */
export function tableListing<Item>(page: (items: readonly Item[]) => string): Listing<Item> {
  return { page, end: () => '' }
}
