import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** What a page did that it must not do. */
export interface Observed {
  /** Requests to another origin. */
  readonly elsewhere: string[]
  /** What the browser blocked by the page's Content-Security-Policy. */
  readonly violations: string[]
  /** Script errors, and errors that the page logged to the console. */
  readonly errors: string[]
}

/** A browser with an empty profile. */
export interface Browser {
  /** Opens a page and observes it from its first request on. */
  open(url: string, options?: OpenOptions): Promise<{ readonly page: Page; readonly observed: Observed }>
  close(): Promise<void>
}

export interface OpenOptions {
  readonly colorScheme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
}

/** The path of this machine's browser, or null. */
export function chromiumHere(): string | null {
  return PROGRAMS.find((path) => existsSync(path)) ?? null
}

export async function openBrowser(executablePath: string): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), 'latchkey-chromium-'))
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  return {
    async open(url, { colorScheme = 'light', width = 1280, height = 800 } = {}) {
      const page = await context.newPage()
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height })
      const observed: Observed = { elsewhere: [], violations: [], errors: [] }
      page.on('request', (request) => {
        if (new URL(request.url()).origin !== new URL(url).origin) observed.elsewhere.push(request.url())
      })
      page.on('pageerror', (error) => observed.errors.push(error.message))
      page.on('console', (message) => {
        if (/Content.Security.Policy|Refused to|TrustedScript|TrustedHTML/i.test(message.text()))
          observed.violations.push(message.text())
        else if (message.type() === 'error') observed.errors.push(message.text())
      })
      await page.goto(url)
      return { page, observed }
    },
    async close() {
      await context.close()
      rmSync(profile, { recursive: true, force: true })
    },
  }
}

/** Asserts that the page sent no request to another origin and logged no error, except for the expected refusals. */
export function assertQuiet(
  { elsewhere, violations, errors }: Observed,
  refusals: readonly number[] = [],
): void {
  assert.deepEqual(elsewhere, [])
  assert.deepEqual(violations, [])
  // The browser logs each refusal that the test expects.
  const refused = (text: string) => refusals.some((status) => text.includes(`status of ${status} `))
  assert.deepEqual(
    errors.filter((text) => !refused(text)),
    [],
  )
}
