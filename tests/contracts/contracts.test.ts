import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { UNCOUNTED } from '../support/running-process.ts'
import { sqliteProgram } from '../support/sqlite.ts'
import { BROKEN_BY_UNLOCKED_LOGINS } from '../support/unlocked-logins.ts'

it('every sentence about stores and the throttle fails on a stub that returns constants', async () => {
  const { passed, broken } = await sentencesOn('constants')
  assert.deepEqual(passed, [])
  assert.ok(broken.length > 80, `${broken.length} sentences`)
})

describe('The contracts fail only in the sentences about a planted fault:', () => {
  const faults: readonly (readonly [fault: string, fixture: string, broken: readonly string[]])[] = [
    [
      'a store that revokes and stores without a lock loses the race of parallel logins',
      'unlocked-logins',
      BROKEN_BY_UNLOCKED_LOGINS,
    ],
    [
      'a store of whole seconds',
      'whole-seconds',
      [
        'a token is returned as it was stored, with its owner',
        'a login token is returned as it was stored',
        'a login revokes the earlier one at its own time, and nothing else',
        'a login with `admit` revokes, moves and takes the slots that it names',
        'only the unrevoked login tokens are listed as sessions, newest first',
        'a token expires at the exact millisecond',
        'a customer’s tokens are listed newest first, in any state',
        'pages list every token once, ordered by the owners’ e-mails, then newest first',
        'tokens created before a time are revoked for every customer, and none created at it',
        'a last use only moves forward, and lookups and lists return it',
        'a use that is not later by `minAdvanceMs` is not written',
      ],
    ],
    [
      'a throttle that counts after the password was verified',
      'late-throttle',
      [
        'of 200 parallel attempts 10 get a slot and the others wait',
        'failures and held slots count together: no guess exceeds the limit',
        'a success does not release the slots of other attempts',
        'an undecided attempt releases its slot and does not change the failures',
        'a slot that is not released expires after 15 seconds',
        'an address is counted exactly over all accounts, and a success does not reset it',
        'of 200 parallel attempts from one address 10 get a slot',
        'guesses from many addresses are admitted one at a time, 45 seconds apart',
        'parallel guesses from many addresses get no more slots than the burst',
        'slots held from an address where the customer has logged in are counted',
      ],
    ],
    [
      'a cache that stores a value read before a change',
      'naive-cache',
      ['a lookup that is overtaken by a change is not reused by later lookups'],
    ],
    [
      'a cache whose entries expire a second late',
      'late-cache',
      [
        ...[2, 300, 999, 1000, 1500, 60_000, 315_360_000_000].map(
          (ms) => `a value with a TTL of ${ms} ms is there until just before its expiry and gone after it`,
        ),
        'the shortest TTL does not mean forever',
        'a replaced value gets its own TTL',
        'deleted and expired entries make room',
        'it reports each removed value once, with its key, and nothing on clear',
      ],
    ],
    [
      'invalidations that are applied after the call has returned',
      'late-invalidations',
      ['this process applies an invalidation before the call returns'],
    ],
    [
      'one-time tokens that are used without a lock',
      'unlocked-one-time-tokens',
      ['of 20 parallel uses one succeeds'],
    ],
    [
      'a store that does not count the logins it revokes',
      'uncounted-logins',
      [
        'a login returns the number of tokens that it revoked',
        'a login with `admit` revokes, moves and takes the slots that it names',
      ],
    ],
    [
      'a store that renews a hash over a new password',
      'careless-rehash',
      ['a rehash replaces only the expected hash and revokes no token'],
    ],
    [
      'a hasher that returns immediately for a customer without a password',
      'hasty-hasher',
      [
        'a missing, a damaged and a cheaper hash take as long as the configured cost',
        'a full queue rejects the newest slot of the source that holds the most',
        'threads serve the sources in turn, then the accounts of a source',
        'at an equal turn, threads serve known accounts first',
        // Such a verification does not occupy a slot, so it queues nothing behind it.
        'work that has not begun when the signal aborts rejects with its reason',
      ],
    ],
    [
      'a hasher that trims passwords',
      'trimming-hasher',
      [
        'the imported hash $2y$04$… of 9 characters is verified',
        'a password is compared exactly: not trimmed, folded or normalised',
      ],
    ],
    [
      'secrets whose checksum is not verified',
      'unchecked-secrets',
      [
        'a change of any one character is refused, including the prefix',
        'two swapped neighbours are refused',
        'one more or one less character anywhere is refused',
        'a text that cannot be a token is refused without an error',
        'a text under another prefix is another token, with another checksum',
      ],
    ],
  ]
  for (const [fault, fixture, expected] of faults) {
    it(fault, async () => {
      const { passed, broken } = await sentencesOn(fixture)
      assert.deepEqual(broken, expected)
      assert.ok(passed.length > 4, `${passed.length} other sentences`)
    })
  }
})

describe('The contracts of small ports fail only in the sentences about a planted fault:', {
  concurrency: 4,
}, () => {
  const faults: readonly (readonly [
    fault: string,
    fixture: string,
    sentences: { readonly broken: readonly string[]; readonly passed: readonly string[] },
  ])[] = [
    [
      'an audit log that writes later',
      'late-audit-log',
      {
        broken: [
          'an event is stored with its fields when `record` returns',
          '1,000 events are stored in the order of their calls',
        ],
        passed: ['an event that cannot be written throws `Unavailable`'],
      },
    ],
    [
      'a clock whose timers call early',
      'early-timers',
      {
        broken: ['a timer calls once and never early'],
        passed: [
          'both clocks advance, and the monotonic one never goes backwards',
          'a timer that is due already does not call within `after`',
          'a cancelled timer does not call, and the others do',
        ],
      },
    ],
    [
      'ids that every process counts from one',
      'counted-ids',
      {
        broken: ['10,000 ids of two generators are distinct'],
        passed: ['every id is a UUID in lower case'],
      },
    ],
    [
      'a blocklist that trims passwords and compares their case',
      'case-sensitive-blocklist',
      {
        broken: ['a listed password is found in any letter case', 'a text that is not listed is not found'],
        passed: ['100 calls at once have the same results'],
      },
    ],
    [
      'service secrets of which a beginning suffices',
      'prefix-service-secrets',
      {
        broken: [
          'a secret in which one character differs, is added or is missing has no name',
          'another text has no name, and is no error',
        ],
        passed: [
          'each secret has the name and the scopes of its token',
          'without service tokens, no text has a name',
        ],
      },
    ],
    [
      'service secrets that grant every scope of any token',
      'shared-scopes',
      {
        broken: ['each secret has the name and the scopes of its token'],
        passed: [
          'a secret in which one character differs, is added or is missing has no name',
          'another text has no name, and is no error',
          'without service tokens, no text has a name',
        ],
      },
    ],
    [
      'uses that are written within the request',
      'direct-usage',
      {
        broken: ['a use returns at once and does not fail with the store'],
        passed: ['the last use of each token is written with its time'],
      },
    ],
  ]
  for (const [fault, fixture, sentences] of faults) {
    it(fault, async () => assert.deepEqual(await sentencesOn(fixture), sentences))
  }
})

describe('The contracts fail in the sentences about', { concurrency: 4 }, () => {
  const stalled = 'does not respond, every call rejects with `Unavailable` at its timeout'
  const whileStalled = [
    `while the database ${stalled}`,
    `while the database ${stalled}`,
    'after 40 calls that timed out, the next ones succeed as soon as the database responds',
    `while the store ${stalled}`,
  ]
  const openAtOnce = 'several processes open an empty database at once'
  const faults: readonly (readonly [fixture: string, fault: string, broken: readonly string[]])[] = [
    ['store-faults', 'has no fault', []],
    ['store-faults', 'ignores its timeouts', whileStalled],
    ['store-faults', 'rejects with another error', whileStalled],
    ['store-faults', 'loses a connection with each timeout', whileStalled.slice(2, 3)],
    [
      'store-faults',
      'waits for locks without a timeout',
      ['a change of a locked token rejects with `Unavailable` at its timeout'],
    ],
    [
      'store-faults',
      'waits for a locked token to write its last use',
      ['a last use does not wait for a locked token: its id is returned, and it can be written later'],
    ],
    [
      'store-faults',
      'prunes beside another process',
      ['while another process prunes, a prune returns null and deletes nothing'],
    ],
    ['password-reset-faults', 'has no fault', []],
    [
      'password-reset-faults',
      'uses up the token of a reset before it locks the customer',
      [
        'of resets at once with two tokens of a customer one succeeds, and its password counts',
        'of a reset and a change of the password at once one succeeds, and its password counts',
        'a reset does not replace a password that is set at the same time',
        'a reset that fails because a login token is locked changes nothing, and its one-time token stays valid',
      ],
    ],
    [
      'password-reset-faults',
      'revokes the tokens before it sets the password of a reset',
      [
        'of resets at once with two tokens of a customer one succeeds, and its password counts',
        'of a reset and a change of the password at once one succeeds, and its password counts',
        'a reset does not replace a password that is set at the same time',
        'no login outlives a reset that it raced against',
      ],
    ],
    [
      'password-reset-faults',
      'ignores whose token a reset presents',
      ['a reset with a token that is not valid for it changes nothing'],
    ],
    ['database-faults', 'has no fault', []],
    [
      'database-faults',
      'applies migrations without a lock',
      ['parallel migrations apply each one once', openAtOnce],
    ],
    [
      'database-faults',
      'ignores MIGRATE=off',
      ['with MIGRATE=off, a missing schema is refused in one line for operators'],
    ],
    [
      'database-faults',
      'is always ready',
      ['it is ready while it responds, and not ready while it does not'],
    ],
    ['database-faults', 'counts logins in each process', ['slots for logins are counted over all processes']],
    [
      'database-faults',
      'invalidates its own process only',
      ['an invalidation has reached every process when its publication resolves'],
    ],
    [
      'database-faults',
      'uses its cache although it says that it has none',
      ['an invalidation has reached every process when its publication resolves'],
    ],
    [
      'database-faults',
      'gives its workers another database',
      ['a worker opens the same database with its variables'],
    ],
    ['database-faults', 'counts the active tokens once', ['the active tokens of every process are counted']],
    ['database-faults', 'closes for every process', ['a closed database leaves the others open']],
    [
      'database-faults',
      'stores the tokens of each process apart',
      [
        ...['service', 'primary', 'command'].map(
          (role) => `a ${role} finds what was stored before it opened the database`,
        ),
        'a change is seen at once by every process',
        'the active tokens of every process are counted',
      ],
    ],
    [
      'process-lock',
      'locks within a process only',
      ['parallel logins in several real processes leave one active token'],
    ],
  ]
  for (const [fixture, fault, expected] of faults) {
    it(`an adapter that ${fault}`, async () => {
      const { passed, broken } = await sentencesOn(fixture, fault)
      assert.deepEqual(broken, expected)
      assert.ok(passed.length > 4, `${passed.length} other sentences`)
    })
  }
})

/** Runs a fixture in a child process. Returns the contract sentences that passed and failed, in order. */
async function sentencesOn(
  fixture: string,
  fault = '',
): Promise<{ readonly passed: readonly string[]; readonly broken: readonly string[] }> {
  const { NODE_TEST_CONTEXT: _, TEST_DATABASE_URL: __, ...env } = process.env
  const file = join(import.meta.dirname, 'fixtures', `${fixture}.ts`)
  const args = ['--import', 'tsx', '--test', '--test-reporter=tap', file]
  const child = spawn(process.execPath, args, {
    env: { ...env, ...UNCOUNTED, ...sqliteProgram.env, FAULT: fault },
    stdio: ['ignore', 'pipe', 'inherit'],
    // A faulty adapter must not make the contracts hang, because then they would name no sentence.
    timeout: 120_000,
  })
  const [stdout, [status]] = await Promise.all([text(child.stdout), once(child, 'close')])
  const named = (line: RegExp) => [...stdout.matchAll(line)].map(([, sentence = '']) => sentence)
  const broken = named(/^ +not ok \d+ - (.*)$/gm)
  assert.equal(status, broken.length > 0 ? 1 : 0, stdout)
  return { passed: named(/^ +ok \d+ - ((?:(?! # SKIP).)*)$/gm), broken }
}
