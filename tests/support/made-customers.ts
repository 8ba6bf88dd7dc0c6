/** The number of valid customers, and of rows among them that must be refused. */
export interface MadeCustomers {
  readonly good: number
  readonly bad: number
}

/** The reasons for refused rows, in their repeating order. */
export const MADE_PROBLEMS = [
  'password_hash: Has 59 characters, expected 60.',
  'password_hash: Must be bcrypt of the version $2a$, $2b$ or $2y$.',
  'email: Must have 1 to 254 characters.',
  'Has 1 field, expected 3.',
  'name: Must have at most 200 characters.',
] as const

const HASH = '$2y$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'

/**
 * Generates a CSV file of customers in pieces of about 100 rows. The bad rows are spread evenly among the good ones.
 */
export function* madeCustomers({ good, bad }: MadeCustomers): Generator<string, void, void> {
  yield 'email,password_hash,name\n'
  let piece = ''
  for (let row = 0, made = 0; row < good + bad; row++) {
    if (Math.floor(((row + 1) * bad) / (good + bad)) > made) piece += badRow(made++)
    else piece += `customer-${row}@example.com,${HASH},"Customer, the ${row}th"\n`
    if (row % 100 < 99) continue
    yield piece
    piece = ''
  }
  yield piece
}

function badRow(made: number): string {
  const email = `bad-${made}@example.com`
  return [
    `${email},${HASH.slice(0, -1)},Short\n`,
    `${email},5f4dcc3b5aa765d61d8327deb882cf99,MD5\n`,
    ` ,${HASH},Nobody\n`,
    `${email}\n`,
    `${email},${HASH},${'n'.repeat(201)}\n`,
  ][made % MADE_PROBLEMS.length] as string
}
