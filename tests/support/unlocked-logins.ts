/** The sentences of the contract of login tokens that fail on a store that revokes and stores without a lock. */
export const BROKEN_BY_UNLOCKED_LOGINS: readonly string[] = [
  '64 parallel logins all succeed and leave one active token',
  '64 parallel logins mixed with logouts leave at most one active token',
  'a login with `admit` revokes, moves and takes the slots that it names',
  'only the unrevoked login tokens are listed as sessions, newest first',
  'two logins never hold one slot',
  'of 64 parallel logins 3 stay active with `replace`',
  'of 64 parallel logins 3 stay active with `refuse`',
  'of 64 parallel logins 1 stay active with `refuse`',
  'of 64 parallel logins 10 stay active with `replace`',
  'tokens of all sessions but one are revoked',
]
