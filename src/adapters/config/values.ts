import { isIP } from 'node:net'
import * as v from 'valibot'
import { FOREIGN_FORMS, type ForeignForm } from '../../domain/foreign-token.ts'

/** A whole number in decimal digits. */
export function wholeNumber(min: number, max: number) {
  const message = `Must be a whole number from ${min} to ${max}.`
  return v.pipe(
    v.string(),
    v.regex(/^\d+$/, message),
    v.transform(Number),
    v.minValue(min, message),
    v.maxValue(max, message),
  )
}

/** One of the given words. */
export function enumValue<const Words extends readonly string[]>(words: Words) {
  return v.picklist(words, `Must be one of ${words.join(', ')}.`)
}

/** `on` or `off`. */
export const onOff = v.pipe(
  enumValue(['on', 'off']),
  v.transform((word) => word === 'on'),
)

/** An address to listen on: an IP address without brackets, or a host name. */
export const listeningHost = v.pipe(
  v.string(),
  v.check(
    (text) => isIP(text) !== 0 || (/^[A-Za-z0-9_]([A-Za-z0-9_.-]*)$/.test(text) && !/^[\d.]+$/.test(text)),
    'Must be an IP address or a host name; leave it unset for 127.0.0.1.',
  ),
)

/** Comma-separated systems whose tokens are accepted. */
export const foreignForms = v.pipe(
  v.string(),
  v.transform((text) => text.split(',').map((word) => word.trim())),
  v.array(enumValue(FOREIGN_FORMS)),
  v.check((forms) => new Set(forms).size === forms.length, 'Must name each system once.'),
  v.transform((forms): readonly ForeignForm[] => forms),
)

/** The path of a folder. */
export const folder = v.pipe(
  v.string(),
  v.check((text) => text.trim() !== '' && !text.includes('\0'), 'Must be the path of a folder.'),
)

/** The path of a file. */
export const file = v.pipe(
  v.string(),
  v.check((text) => text.trim() !== '' && !text.includes('\0'), 'Must be the path of a file.'),
)

/** The prefix of new tokens. */
export const tokenPrefix = v.pipe(
  v.string(),
  v.regex(/^[a-z][a-z0-9]{0,15}$/, 'Must be 1 to 16 lower-case letters and digits that begin with a letter.'),
)

/** The version that the service reports. */
export const version = v.pipe(
  v.string(),
  v.regex(/^[!-~]{1,100}$/, 'Must be 1 to 100 printable ASCII characters without a space.'),
)

/** `refused` or `accepted`: whether the matter is refused. */
export const refusedOrAccepted = v.pipe(
  enumValue(['refused', 'accepted']),
  v.transform((word) => word === 'refused'),
)
