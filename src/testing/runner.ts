import * as nodeTest from 'node:test'

/** The functions with which a test runner declares tests: those of vitest or jest, for example. */
export interface TestRunner {
  /** Declares a suite with the tests that `declare` declares. */
  describe(name: string, declare: () => void): unknown
  /** Declares a test, which fails when `check` throws, rejects or takes longer than `timeoutMs`. */
  it(title: string, check: (context?: TestContext) => Promise<void> | void, timeoutMs: number): unknown
}

/** What a runner passes to each test. Jest passes nothing. */
export interface TestContext {
  /** Marks the test as skipped. */
  skip?(reason: string): void
}

/** The timeout of a contract test in milliseconds. Most take milliseconds. */
const TEST_MS = 120_000

const NODE: TestRunner = {
  describe: (name, declare) => nodeTest.describe(name, declare),
  it: (title, check, timeoutMs) => nodeTest.it(title, { timeout: timeoutMs }, check),
}

/** Returns the functions of a runner, by default of `node:test`. A test has a timeout of two minutes by default. */
export function withTimeout({ describe, it }: TestRunner = NODE) {
  return {
    describe,
    it: (title: string, check: Parameters<TestRunner['it']>[1], timeoutMs = TEST_MS) =>
      it(title, check, timeoutMs),
  }
}
