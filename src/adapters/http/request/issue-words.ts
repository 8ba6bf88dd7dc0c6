/** JSON types in words. */
export const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  integer: 'a whole number',
  null: 'null',
}

/** JSON types by the validator's names. */
export const JSON_TYPES: Readonly<Record<string, string>> = {
  tuple: 'array',
  strict_tuple: 'array',
  loose_tuple: 'array',
  tuple_with_rest: 'array',
  set: 'array',
  record: 'object',
  variant: 'object',
  strict_object: 'object',
  loose_object: 'object',
  object_with_rest: 'object',
  safe_integer: 'integer',
  to_number: 'number',
  finite: 'number',
  nan: 'number',
  bigint: 'integer',
  to_bigint: 'integer',
  to_boolean: 'boolean',
}

/** The formats of texts in words, by the validator's names. */
export const FORMAT_WORDS: Readonly<Record<string, string>> = {
  email: 'an e-mail address',
  rfc_email: 'an e-mail address',
  uuid: 'a UUID',
  url: 'a URL',
  iso_date: 'a date such as 2030-01-31',
  iso_time: 'a time such as 12:00',
  iso_date_time: 'a time such as 2030-01-31T12:00',
  iso_timestamp: 'a time such as 2030-01-31T12:00:00Z',
  to_date: 'a time such as 2030-01-31T12:00:00Z',
  date: 'a time such as 2030-01-31T12:00:00Z',
  ip: 'an IP address',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  base64: 'text in Base64',
  hex_color: 'a colour such as #ff0000',
  digits: 'digits only',
}

/** What the limits of the validator measure, in words. */
export const UNIT_WORDS: Readonly<Record<string, string>> = {
  length: 'a length',
  size: 'a size',
  bytes: 'a size in bytes',
  graphemes: 'a length',
  words: 'a number of words',
  entries: 'a number of fields',
}
