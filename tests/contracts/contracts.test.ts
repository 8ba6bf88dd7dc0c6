import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { UNCOUNTED } from '../support/running-process.ts'

it('every sentence about stores and the throttle fails on a stub that returns constants', () => {
  const { passed, broken } = sentencesOn('constants')
  assert.deepEqual(passed, [])
  assert.ok(broken.length > 80, `${broken.length} sentences`)
})

describe('The contracts fail only in the sentences about a planted fault:', () => {
  const faults: readonly (readonly [fault: string, fixture: string, broken: readonly string[]])[] = [
    [
      'a store that revokes and stores without a lock loses the race of parallel logins',
      'unlocked-logins',
      [
        'of 64 parallel logins all succeed and one token is live',
        '64 parallel logins mixed with logouts leave one live token at most',
      ],
    ],
    [
      'a store of whole seconds',
      'whole-seconds',
      [
        'a token comes back as it went in, with its owner',
        'a login comes back as it went in',
        'a login revokes the earlier one at its own time, and nothing else',
        'a token expires at its very millisecond',
        'a customer’s tokens are listed newest first, whatever their state',
        'all tokens are listed by pages, each once, by the owners’ e-mails and newest first',
        'tokens made before a moment are revoked, whoever’s, and none made at it',
        'a last use goes forward only, and is told by lists alone',
      ],
    ],
    [
      'a throttle that counts after the password was verified',
      'late-throttle',
      [
        'of 200 attempts at once as many get a place as there are, and the others wait',
        'failures and places that are held count together: no guess gets past the limit',
        'a success leaves the places of others alone',
        'what was never decided gives its place back and leaves the failures as they were',
        'a place that nobody gives back is given up after 15 seconds',
        'an address is counted over all accounts, exactly, and a success forgives it nothing',
        'of 200 attempts at once from one address as many get a place as there are',
        'guesses from many addresses are let through one at a time, with a pause that doubles',
        'of guesses from many addresses at once no more get a place than may fail in a row',
        'places of guesses at an account that are held where its owner has logged in are counted',
      ],
    ],
    [
      'a cache that stores a value read before a change',
      'naive-cache',
      ['a look-up that a change overtakes is kept for nobody who asks after it'],
    ],
    [
      'a cache whose entries expire a second late',
      'late-cache',
      [
        ...[2, 300, 999, 1000, 1500, 60_000, 315_360_000_000].map(
          (ms) => `a value with ${ms} ms is there until just before they end and gone after`,
        ),
        'the shortest of lives is not taken for ever',
        'replacing gives the new value its own life',
        'what was deleted or has expired leaves room',
        'tells each value that leaves, once, with its key; a clear tells nothing',
      ],
    ],
    [
      'invalidations that are applied after the call has returned',
      'late-invalidations',
      ['an announcement is obeyed here before the call returns'],
    ],
    [
      'a store that does not count the logins it revokes',
      'uncounted-logins',
      ['a login answers how many it revoked'],
    ],
    [
      'a store that renews a hash over a new password',
      'careless-rehash',
      ['a hash is renewed for whoever still has it, and no token ends with it'],
    ],
    [
      'a hasher that returns immediately for a customer without a password',
      'hasty-hasher',
      [
        'no hash, a damaged and a cheaper one take as long as the configured cost',
        // Such a verification does not occupy a slot, so it queues nothing behind it.
        'what has not begun when the signal aborts is not done, and rejects with its reason',
      ],
    ],
    [
      'a hasher that trims passwords',
      'trimming-hasher',
      [
        'the hash $2y$04$… of 9 characters from elsewhere is verified',
        'a password is taken exactly: no blank is trimmed, no letter folded or normalised',
      ],
    ],
    [
      'secrets whose checksum is not verified',
      'unchecked-secrets',
      [
        'every change of one character is refused, at every place, the prefix included',
        'two neighbours that changed places are refused',
        'a character more or less, anywhere, is refused',
        'what cannot be a token is refused without an error',
        'a text under another prefix is another token, with another checksum',
      ],
    ],
  ]
  for (const [fault, fixture, expected] of faults) {
    it(fault, () => {
      const { passed, broken } = sentencesOn(fixture)
      assert.deepEqual(broken, expected)
      assert.ok(passed.length > 4, `${passed.length} other sentences`)
    })
  }
})

/** Runs a fixture in a child process. Returns the contract sentences that passed and failed, in order. */
function sentencesOn(fixture: string): {
  readonly passed: readonly string[]
  readonly broken: readonly string[]
} {
  const { NODE_TEST_CONTEXT: _, TEST_DATABASE_URL: __, ...env } = process.env
  const file = join(import.meta.dirname, 'fixtures', `${fixture}.ts`)
  const { stdout, status } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--test', '--test-reporter=tap', file],
    // A faulty adapter must not make the contracts hang, because then they would name no sentence.
    { env: { ...env, ...UNCOUNTED }, encoding: 'utf8', timeout: 120_000, maxBuffer: 16 * 1024 * 1024 },
  )
  assert.equal(status, 1)
  const named = (line: RegExp) => [...stdout.matchAll(line)].map(([, sentence = '']) => sentence)
  return { passed: named(/^ +ok \d+ - (.*)$/gm), broken: named(/^ +not ok \d+ - (.*)$/gm) }
}
