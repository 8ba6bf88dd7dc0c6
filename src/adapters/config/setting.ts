import type * as v from 'valibot'
import type { Configuration } from '../../application/configuration.ts'

/** A field of `Configuration` that a setting determines. */
type SettingKey = Exclude<keyof Configuration, 'production' | 'threadPoolSize'>

/** An environment variable of the service: how it is read, and how documentation and messages show it. */
export interface Setting<
  Name extends string = string,
  Key extends SettingKey = SettingKey,
  Parser extends v.GenericSchema = v.GenericSchema,
  Unset = unknown,
> {
  readonly name: Name
  /** The field of `Configuration`. */
  readonly key: Key
  /** The text that applies when the variable is unset; null when unset has its own meaning. */
  readonly default: string | null
  /** The field's value if the variable is unset and there is no default text. */
  readonly unset: Unset
  /** The default as the documentation shows it. */
  readonly shownDefault: string
  /** Parses the text into the field's value. Its messages are whole sentences. */
  readonly parser: Parser
  readonly meaning: string
  /** An accepted value; fictitious for a secret. */
  readonly example: string
  /** The value is never shown, and may be read from the file named by `<name>_FILE`. */
  readonly secret: boolean
}

/** The fields that a table of settings determines, with the types of its parsers. */
export type SettingValues<Table extends readonly Setting[]> = {
  readonly [Each in Table[number] as Each['key']]:
    | v.InferOutput<Each['parser']>
    | Extract<Each['unset'], null>
}

type SettingParser<Key extends SettingKey> = v.GenericSchema<unknown, Configuration[Key]>

/** Declares a setting with a default text, which is also its example. */
export function setting<
  const Name extends string,
  const Key extends SettingKey,
  Parser extends SettingParser<Key>,
>(declared: {
  readonly name: Name
  readonly key: Key
  readonly default: string
  readonly parser: Parser
  readonly meaning: string
}): Setting<Name, Key, Parser, never> {
  const { default: text } = declared
  // Never read: the default text is parsed instead.
  return { ...declared, unset: undefined as never, shownDefault: text, example: text, secret: false }
}

/** Declares a setting that may stay unset: its field is then `unset`, null by default. */
export function optionalSetting<
  const Name extends string,
  const Key extends SettingKey,
  Parser extends SettingParser<Key>,
  const Unset extends Configuration[Key] | null = null,
>({
  unset,
  secret = false,
  ...declared
}: {
  readonly name: Name
  readonly key: Key
  readonly unset?: Unset
  readonly shownDefault: string
  readonly parser: Parser
  readonly meaning: string
  readonly example: string
  readonly secret?: boolean
}): Setting<Name, Key, Parser, Unset> {
  return { ...declared, default: null, unset: (unset ?? null) as Unset, secret }
}
