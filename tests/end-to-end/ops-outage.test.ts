import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { assertQuiet, type Browser, chromiumHere, openBrowser } from '../support/chromium.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { PASSWORD, type RunningApp, SERVICE_SECRET, startApp } from '../support/running-app.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { openTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const program = chromiumHere()
const skip = program === null ? 'Chromium is not installed' : postgresAlone
const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const isLong = process.env.TEST_LONG === '1'
/** A folder for pictures before, during and after; unset: none. */
const pictures = process.env.OPS_PICTURES
const OUTAGE_MS = isLong ? 60_000 : 3000
const MAX_RED_MS = 15_000
const SCREENS = [1440, 800, 390].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme, height: 900 })),
)
const RED = 'body > header.bad'
/** On a busy machine the cache may be suspended, which is no outage. */
const WELL = 'body > header:is(.good, .warn)'

describe('The operator’s page in an outage of the database', { skip }, () => {
  let database: TestDatabase
  let proxy: TcpProxy
  let app: RunningApp
  let browser: Browser
  before(async () => {
    database = await createTestDatabase()
    proxy = await openTcpProxy(database.url)
    app = await startApp({
      // The intervals of production, which bound how late the page shows the outage.
      env: { DATABASE_URL: proxy.url, OPS: 'on', SERVICE_TOKENS: `oncall[ops]=${SERVICE_SECRET}` },
      database,
    })
    browser = await openBrowser(program as string)
  })
  after(async () => {
    await browser?.close()
    await app?.close()
    await proxy?.close()
    await database?.drop()
  })

  test('turns red within 15 seconds, says what is wrong and since when, and is green again afterwards', async (t) => {
    const { email } = await app.addCustomer()
    const token = await app.login(email)
    const pages = await Promise.all(SCREENS.map((screen) => openPage(screen)))
    const [{ page: first } = assert.fail()] = pages
    await Promise.all(pages.map(({ page }) => page.waitForSelector(WELL, { timeout: 60_000 })))
    const load = repeat(async () => {
      await app.call('/api/me', { token })
      await app.call('/api/login', { body: { email, password: PASSWORD } })
    })
    await sleep(isLong ? 60_000 : 1000)
    await checkAll('before')

    const brokenMs = Date.now()
    proxy.refuse()
    await Promise.all(pages.map(({ page }) => page.waitForSelector(RED, { timeout: 60_000 })))
    const redMs = Date.now() - brokenMs
    t.diagnostic(`red after ${redMs} ms`)
    assert.ok(redMs < MAX_RED_MS, `red after ${redMs} ms`)
    assert.match(
      (await first.textContent('#verdict')) ?? '',
      /^Database unreachable since \d\d?:\d\d:\d\d( [AP]M)?\. Requests that need a lookup fail\. .*Runbook$/,
    )
    assert.match(await first.title(), /^✖ Database unreachable – /)
    await first.click('#verdict a')
    assert.match((await first.textContent('#LatchkeyDatabaseUnreachable')) ?? '', /latchkey doctor/)
    await sleep(Math.max(0, OUTAGE_MS - (Date.now() - brokenMs)))
    await checkAll('during')

    proxy.admit()
    // The share of failed requests covers a minute.
    await Promise.all(pages.map(({ page }) => page.waitForSelector(WELL, { timeout: 180_000 })))
    await first.waitForSelector('#events :text("Over: Database unreachable")')
    assert.equal(await first.locator('#problems #LatchkeyDatabaseUnreachable').count(), 0)
    await sleep(isLong ? 30_000 : 1000)
    await checkAll('after')
    await load.stop()
    for (const { page, observed } of pages) {
      assertQuiet(observed, [503])
      await page.close()
    }

    async function checkAll(moment: string): Promise<void> {
      for (const [at, { page }] of pages.entries()) {
        const screen = SCREENS[at]
        assert.ok(screen)
        assert.deepEqual(await violations(page), [], `${moment}, ${screen.width}, ${screen.colorScheme}`)
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), screen.width)
        if (pictures === undefined) continue
        mkdirSync(pictures, { recursive: true })
        const name = `${moment}-${screen.width}-${screen.colorScheme}.png`
        await page.screenshot({ path: join(pictures, name), fullPage: false })
      }
    }
  })

  test('shows a result in view on a phone, and says that other processes use the database', async () => {
    const other = await startApp({ database: app.database, env: { OPS: 'on' } })
    const { page } = await openPage({ width: 390, height: 700, colorScheme: 'light' })
    const { id, email } = await app.addCustomer()
    await app.addToken({ id })
    await page.waitForSelector('#instances:has-text("1 more process uses this database.")')
    await page.fill('#text', id)
    await page.click('#search button')
    await page.waitForSelector(`#found :text("${email}")`)
    const top = Number(await page.evaluate('document.getElementById("found").getBoundingClientRect().top'))
    assert.ok(top > 0 && top < 500, `the result begins at ${top}`)
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, 'found-390.png') })
    await page.click('#found button:text-is("Unlock")')
    await page.waitForSelector('#message:text-is("The failed logins are forgotten.")')
    assert.deepEqual(await violations(page), [])
    await page.close()
    await other.service.stop({ delay: false })
  })

  test('says when the service does not respond at all', async () => {
    const { page } = await openPage({ width: 800, height: 700, colorScheme: 'light' })
    await page.route('**/ops/live', (route) => route.abort())
    await page.waitForSelector(`${RED} #verdict:has-text("The service does not respond since")`)
    assert.match(await page.title(), /^✖ The service does not respond/)
    await page.close()
  })

  async function openPage(screen: { width: number; height: number; colorScheme: 'light' | 'dark' }) {
    const open = await browser.open(`${app.url}/ops`, screen)
    await open.page.fill('#token', SERVICE_SECRET)
    await open.page.click('#opening button')
    await open.page.waitForSelector('#opened:not([hidden])')
    return open
  }
})

async function violations(page: Page): Promise<unknown> {
  await page.evaluate(axe)
  return page.evaluate(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))`,
  )
}

/** Calls again and again until it is stopped. Failures are expected in an outage. */
function repeat(act: () => Promise<void>): { stop(): Promise<void> } {
  let isStopped = false
  const running = (async () => {
    while (!isStopped) {
      await act().catch(() => {})
      await sleep(50)
    }
  })()
  return {
    stop() {
      isStopped = true
      return running
    },
  }
}
