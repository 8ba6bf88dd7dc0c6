import * as nodeTest from 'node:test'

/** The functions with which a test runner declares tests: those of vitest or jest, for example. */
export interface TestRunner {
  /** Declares a suite with the tests that `declare` declares. */
  describe(name: string, declare: () => void): unknown
  /** Declares a test, which fails when `check` throws, rejects or takes longer than `timeoutMs`. */
  it(title: string, check: (context?: TestContext) => Promise<void> | void, timeoutMs: number): unknown
}

/** What a runner passes to each test. Jest passes nothing, because `check` declares no parameter. */
export interface TestContext {
  /** Marks the test as skipped. Vitest ends it by throwing. */
  skip?(reason: string): void
}

/** The timeout of a contract test in milliseconds. Most take milliseconds. */
const TEST_MS = 120_000

const NODE: TestRunner = {
  describe: (name, declare) => nodeTest.describe(name, declare),
  it: (title, check, timeoutMs) => nodeTest.it(title, { timeout: timeoutMs }, check),
}

/** The context of a test under any runner. */
export interface SkippableContext {
  /** Skips the test. A runner that cannot skip a test while it runs, such as jest, prints a warning with the reason. */
  skip(reason: string): void
}

/** Returns the functions of a runner, by default of `node:test`. A test has a timeout of two minutes by default. */
export function withTimeout({ describe, it }: TestRunner = NODE) {
  return {
    describe,
    it: (title: string, check: (context: SkippableContext) => Promise<void> | void, timeoutMs = TEST_MS) =>
      // Rest parameters: jest waits for a callback when a function has a parameter.
      it(title, (...[context]) => check({ skip: (reason) => skip(title, reason, context) }), timeoutMs),
  }
}

function skip(title: string, reason: string, context: TestContext | undefined): void {
  if (context?.skip) context.skip(reason)
  else process.emitWarning(`Not tested: ${title}. ${reason}`)
}
