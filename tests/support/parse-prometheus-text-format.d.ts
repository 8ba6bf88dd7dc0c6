declare module 'parse-prometheus-text-format' {
  /** Parses Prometheus' text format, version 0.0.4. */
  function parse(text: string): {
    readonly name: string
    readonly type: 'COUNTER' | 'GAUGE' | 'UNTYPED'
    readonly metrics: readonly {
      readonly labels?: Readonly<Record<string, string>>
      readonly value: string
    }[]
  }[]
  export = parse
}
