import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertQuiet, type Browser, chromiumHere, openBrowser } from '../support/chromium.ts'
import { orderRoutes } from '../support/documented-routes.ts'
import { PASSWORD, type RunningApp, SERVICE_SECRET, startApp } from '../support/running-app.ts'

/** JavaScript that runs inside the page. */
const checks = readFileSync(join(import.meta.dirname, '../support/in-page.js'), 'utf8')
const program = chromiumHere()
const skip = program === null && 'Chromium is not installed'

describe('the docs page in a browser', { skip }, () => {
  let app: RunningApp
  let browser: Browser
  before(async () => {
    app = await startApp({ routes: orderRoutes })
    browser = await openBrowser(program as string)
  })
  after(async () => {
    await browser?.close()
    await app?.close()
  })

  test('logs in, authorises, calls me and custom routes, and sends no other requests', async () => {
    const { email } = await app.addCustomer()
    const { page, observed } = await browser.open(`${app.url}/docs`)
    await page.waitForSelector('#postMe')
    assert.match(await page.title(), /^API \S+$/)

    const send = (id: string) => page.click(`#${id} button[type=submit]`)
    const waitForStatus = (id: string, status: number) =>
      page.waitForSelector(`#${id} .result .status:text-is("${status}")`, { timeout: 10_000 })

    await send('postMe')
    await waitForStatus('postMe', 401)
    await page.fill('#postLogin textarea', JSON.stringify({ email, password: PASSWORD }))
    await send('postLogin')
    await waitForStatus('postLogin', 200)
    await page.click('text=Authorise with this token')
    await send('postMe')
    await waitForStatus('postMe', 200)
    assert.match((await page.textContent('#postMe .response')) ?? '', new RegExp(`"email": "${email}"`))

    await page.fill('#getOrders input[name=limit]', '5')
    await send('getOrders')
    await waitForStatus('getOrders', 200)
    await send('postOrders')
    await waitForStatus('postOrders', 201)
    await page.fill('#deleteOrdersByOrderId input[name=id]', 'a/b')
    await send('deleteOrdersByOrderId')
    await waitForStatus('deleteOrdersByOrderId', 204)
    await page.fill('input[name=serviceToken]', SERVICE_SECRET)
    await send('getStatus')
    await waitForStatus('getStatus', 200)
    assertQuiet(observed, [401])
    await page.close()
  })

  test('renders the document as text and blocks markup and scripts', async () => {
    const { page, observed } = await browser.open(`${app.url}/docs`)
    await page.waitForSelector('#postMe')
    assert.match(
      (await page.textContent('#deleteOrdersByOrderId')) ?? '',
      /Withdraw <b id=planted>an order<\/b>/,
    )
    assert.equal(await page.$('#planted'), null)
    const ran = await inPage(page, 'plantMarkup()')
    assert.deepEqual(ran, [false, 'block'])
    // Proves that the violations asserted to be empty elsewhere are recorded.
    assert.notDeepEqual(observed.violations, [])
    await page.close()
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`is accessible in the ${colorScheme} colour scheme`, async () => {
      const { page, observed } = await browser.open(`${app.url}/docs`, { colorScheme })
      await page.waitForSelector('#postMe')
      const faults = await inPage(page, 'faultsOfAccess()')
      assert.deepEqual(faults, { unnamed: 0, silent: 0, twice: [], dead: 0 })
      for (const selector of [
        'h1',
        '.quiet',
        '.chip',
        '.type',
        '.method.post',
        '.method.get',
        'button',
        '.bad',
      ]) {
        const contrast = Number(await inPage(page, `contrastOf('${selector}')`))
        assert.ok(contrast >= 4.5, `${selector}: ${contrast}`)
      }
      assertQuiet(observed)
      await page.close()
    })
  }

  test('fits a narrow screen', async () => {
    const { page, observed } = await browser.open(`${app.url}/docs`, { width: 380, height: 800 })
    await page.waitForSelector('#postMe')
    assert.equal(await inPage(page, 'document.documentElement.scrollWidth'), 380)
    assertQuiet(observed)
    await page.close()
  })

  test('is saved as a picture', {
    skip: process.env.DOCS_PICTURE !== 'on' && 'DOCS_PICTURE=on takes it',
  }, async () => {
    const { email } = await app.addCustomer({ email: 'ana@example.com' })
    const { page } = await browser.open(`${app.url}/docs`, { width: 1360, height: 1500 })
    await page.waitForSelector('#postMe')
    await page.fill('#postLogin textarea', JSON.stringify({ email, password: PASSWORD }, null, 2))
    await page.click('#postLogin button[type=submit]')
    await page.click('text=Authorise with this token')
    await page.click('#postMe button[type=submit]')
    await page.waitForSelector('#postMe .response')
    await inPage(page, 'hideToken()')
    writeFileSync(join(import.meta.dirname, '../../docs/images/docs-page.png'), await page.screenshot())
    await page.close()
  })
})

function inPage(page: Page, call: string): Promise<unknown> {
  return page.evaluate(`${checks}\n${call}`)
}
