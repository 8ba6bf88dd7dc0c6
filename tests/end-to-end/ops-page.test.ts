import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertQuiet, type Browser, chromiumHere, openBrowser } from '../support/chromium.ts'
import { type RunningApp, SERVICE_SECRET, startApp } from '../support/running-app.ts'
import { until } from '../support/until.ts'

const checks = readFileSync(join(import.meta.dirname, '../support/in-page.js'), 'utf8')
const program = chromiumHere()
const skip = program === null && 'Chromium is not installed'
const inPage = (page: Page, call: string) => page.evaluate(`${checks}\n${call}`)

describe('the operator’s page in a browser', { skip }, () => {
  let app: RunningApp
  let browser: Browser
  before(async () => {
    app = await startApp({
      env: { OPS: 'on', SERVICE_TOKENS: `tests[ops]=${SERVICE_SECRET}` },
      // As many as ten minutes have: the tests wait for more samples.
      samplingTimes: { everyMs: 100, keep: 6000 },
    })
    browser = await openBrowser(program as string)
  })
  after(async () => {
    await browser?.close()
    await app?.close()
  })

  async function openPage(options: Parameters<Browser['open']>[1] = {}) {
    const open = await browser.open(`${app.url}/ops`, options)
    await open.page.fill('#token', SERVICE_SECRET)
    await open.page.click('#opening button')
    await open.page.waitForSelector('#opened:not([hidden])')
    return open
  }

  async function bot(customerId: string, name: string): Promise<string> {
    const { useCases } = app.service
    const created = await useCases.tokens.create(
      { customerId, name, abilities: ['orders:read'], expiresAtMs: null },
      useCases.deadline(),
    )
    assert.ok(created)
    return created.secret
  }

  const getStatus = async (token: string) => (await app.call('/api/me', { token })).status

  /** Waits until `count` more samples are drawn. */
  async function samplesShown(page: Page, count: number): Promise<void> {
    const countShown = async () => Number(await page.getAttribute('#slider', 'max'))
    for (const before = await countShown(); (await countShown()) < before + count; )
      await page.waitForTimeout(20)
  }

  test('opens with a service token, counts a login and revokes a token, by keyboard only', async () => {
    const { id, email } = await app.addCustomer()
    const secrets = [await bot(id, 'importer'), await bot(id, 'mobile')]
    const { page, observed } = await browser.open(`${app.url}/ops`)
    const { keyboard } = page
    /** Presses Tab until the element with this accessible name has the focus. */
    async function tabTo(name: string): Promise<void> {
      for (let presses = 0; presses < 40; presses++) {
        await keyboard.press('Tab')
        if ((await inPage(page, 'nameOfFocused()')) === name) return
      }
      assert.fail(`The keyboard does not reach ${name}.`)
    }

    await tabTo('Service token')
    await keyboard.type('wrong')
    await keyboard.press('Enter')
    await page.waitForSelector('#refused:text-is("A valid service token is required.")')
    await page.fill('#token', '')
    await keyboard.type(SERVICE_SECRET)
    await keyboard.press('Enter')
    await page.waitForSelector('#verdict:text-is("All checks pass.")')
    assert.equal(await page.inputValue('#token'), '')

    const secret = await app.login(email)
    // Each sample replaces the last, so logins continue until the page shows one.
    const other = await app.addCustomer()
    const logins = () => page.textContent('#chart-logins ~ .headline strong')
    for (const deadline = Date.now() + 30_000; /^(0 |–)/.test((await logins()) ?? ''); ) {
      assert.ok(Date.now() < deadline, 'no login is counted')
      await app.login(other.email)
    }
    assert.equal(await getStatus(secret), 200)

    await tabTo('Moment')
    await keyboard.press('Home')
    assert.match((await page.textContent('#moment')) ?? '', /\d\d:\d\d:\d\d/)
    // Redrawing must not reset the moment chosen by keyboard.
    await samplesShown(page, 3)
    await keyboard.press('End')
    assert.equal(await page.textContent('#moment'), 'now')

    await tabTo('E-mail, customer ID or token ID')
    await keyboard.type(email)
    await keyboard.press('Enter')
    await page.waitForSelector('table')
    const importer = (await page.textContent('tr:has-text("importer") .id')) ?? ''
    await tabTo(`Revoke importer, ${importer}`)
    await keyboard.press('Enter')
    await page.waitForSelector(`#question:text-is("Revoke the token “importer” of ${email}?")`)
    assert.equal(await inPage(page, 'nameOfFocused()'), 'Keep')
    await keyboard.press('Escape')
    assert.equal(await inPage(page, 'nameOfFocused()'), `Revoke importer, ${importer}`)
    assert.deepEqual(await Promise.all(secrets.map(getStatus)), [200, 200])
    await keyboard.press('Enter')
    await tabTo('Revoke')
    await keyboard.press('Enter')
    await page.waitForSelector('#message:text-is("1 token is revoked, on every instance.")')
    assert.equal(await inPage(page, 'document.activeElement.id'), 'message')
    assert.deepEqual(await Promise.all([secret, ...secrets].map(getStatus)), [200, 401, 200])
    assert.equal(await page.textContent('tr:has-text("importer") .chip'), 'revoked')

    await tabTo('Revoke all')
    await keyboard.press('Enter')
    await tabTo('Revoke')
    await keyboard.press('Enter')
    await page.waitForSelector('#message:text-is("2 tokens are revoked, on every instance.")')
    assert.deepEqual(await Promise.all([secret, ...secrets].map(getStatus)), [401, 401, 401])
    assert.ok(await page.isDisabled('button:text-is("Revoke all")'))

    assertQuiet(observed, [401])
    await page.close()
  })

  test('shows the moment under the pointer while the pointer stays', async () => {
    const { page, observed } = await openPage()
    await samplesShown(page, 3)
    const moment = () => page.textContent('#moment')
    // There is no sample at the left edge yet: the page shows the nearest one.
    await page
      .locator('.u-over')
      .first()
      .hover({ position: { x: 1, y: 20 } })
    assert.match((await moment()) ?? '', /\d\d:\d\d:\d\d/)
    await samplesShown(page, 2)
    assert.match((await moment()) ?? '', /\d\d:\d\d:\d\d/)
    // The slider overrides the pointer if it moves later.
    await page.focus('#slider')
    await page.keyboard.press('Home')
    await page.keyboard.press('End')
    assert.equal(await moment(), 'now')
    await samplesShown(page, 2)
    assert.equal(await moment(), 'now')
    await page.mouse.move(1, 1)
    assert.equal(await moment(), 'now')
    await samplesShown(page, 2)
    assert.equal(await moment(), 'now')
    assertQuiet(observed)
    await page.close()
  })

  test('stores no token and shows nothing after it is closed or reloaded', async () => {
    const { email } = await app.addCustomer()
    const { page, observed } = await openPage()
    assert.deepEqual(await inPage(page, 'persistedData()'), [0, 0, ''])
    await page.fill('#text', email)
    await page.click('#search button')
    await page.waitForSelector('#who')
    await page.click('#close')
    await page.waitForSelector('#opening:not([hidden])')
    assert.equal(await page.locator('#who').count(), 0)
    assert.equal(await page.inputValue('#text'), '')
    await page.reload()
    await page.waitForSelector('#opening:not([hidden])')
    assert.ok(await page.isHidden('#opened'))
    assertQuiet(observed)
    await page.close()
  })

  test('renders names as text and recovers when the service does not respond for a while', async () => {
    const { id, email } = await app.addCustomer()
    await bot(id, '<img src=x onerror="globalThis.ran = true">')
    const { page, observed } = await openPage()
    await page.fill('#text', email)
    await page.click('#search button')
    await page.waitForSelector('table')
    assert.equal(await inPage(page, 'document.querySelectorAll("td img").length'), 0)
    await page.route('**/ops/live', (route) => route.abort())
    await page.waitForSelector('#verdict:has-text("The service does not respond since")')
    await page.unroute('**/ops/live')
    await page.waitForSelector('#verdict:text-is("All checks pass.")')
    observed.errors.splice(0)
    assertQuiet(observed)
    await page.close()
  })

  test('ignores a late response to an earlier request', async () => {
    const [ana, bea] = [await app.addCustomer(), await app.addCustomer()]
    await bot(ana.id, 'importer')
    const { page, observed } = await openPage()
    const delayed: (() => Promise<void>)[] = []
    await page.route('**/ops/revoke', (route) => void delayed.push(() => route.continue()))
    const search = async (email: string) => {
      await page.fill('#text', email)
      await page.click('#search button')
      await page.waitForSelector(`#found :text("${email}")`)
    }
    await search(ana.email)
    await page.click('#found button:text-is("Revoke")')
    await page.click('#yes')
    await search(bea.email)
    await page.focus('#text')
    const responded = page.waitForResponse('**/ops/revoke')
    await delayed[0]?.()
    await responded
    await samplesShown(page, 2)
    assert.equal(await page.locator(`#found :text("${ana.email}")`).count(), 0)
    assert.equal(await inPage(page, 'document.activeElement.id'), 'text')
    assertQuiet(observed)
    await page.close()
  })

  test('hides the customer after a failure and reports an unknown outcome', async () => {
    const { id, email } = await app.addCustomer()
    await bot(id, 'importer')
    const { page, observed } = await openPage()
    const show = async () => {
      await page.fill('#text', email)
      await page.click('#search button')
      await page.waitForSelector('#message:text-is("1 active token.")')
    }
    await show()
    await page.route('**/ops/revoke', (route) => route.abort())
    await page.click('#found button:text-is("Revoke")')
    await page.click('#yes')
    await page.waitForSelector(
      '#message:text-is("The service did not respond. The result is unknown. Search again to see it.")',
    )
    assert.equal(await page.locator('#who').count(), 0)
    await show()
    await page.route('**/ops/customer', (route) => route.abort())
    await page.click('#search button')
    await page.waitForSelector('#message:text-is("The service did not respond.")')
    assert.equal(await page.locator('#who').count(), 0)
    observed.errors.splice(0)
    assertQuiet(observed)
    await page.close()
  })

  test('closes its open dialog with itself and ignores an earlier attempt to open it', async () => {
    const { id, email } = await app.addCustomer()
    await bot(id, 'importer')
    const { page, observed } = await browser.open(`${app.url}/ops`)
    const delayed: (() => Promise<void>)[] = []
    await page.route('**/ops/live', (route) =>
      delayed.length > 0 ? route.continue() : void delayed.push(() => route.abort()),
    )
    await page.fill('#token', SERVICE_SECRET)
    await page.click('#opening button')
    await until(() => delayed.length > 0)
    await page.click('#opening button')
    await page.waitForSelector('#opened:not([hidden])')
    await delayed[0]?.()
    await samplesShown(page, 2)
    assert.ok(await page.isVisible('#opened'))

    await page.fill('#text', email)
    await page.click('#search button')
    await page.click('#found button:text-is("Revoke")')
    await page.waitForSelector('#sure[open]')
    await page.route('**/ops/live', (route) =>
      route.fulfill({ status: 401, json: { success: false, error: 'It was rotated.' } }),
    )
    await page.waitForSelector('#refused:text-is("It was rotated.")')
    assert.equal(await page.isVisible('#sure'), false)
    assert.equal(await inPage(page, 'document.activeElement.id'), 'token')
    observed.errors.splice(0)
    assertQuiet(observed, [401])
    await page.close()
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`is accessible in the ${colorScheme} colour scheme`, async () => {
      const { email } = await app.addCustomer()
      await app.login(email)
      const { page, observed } = await openPage({ colorScheme })
      await page.fill('#text', email)
      await page.click('#search button')
      await page.waitForSelector('table')
      assert.deepEqual(await inPage(page, 'faultsOfAccess()'), { unnamed: 0, silent: 0, twice: [], dead: 0 })
      for (const selector of [
        'h1',
        '.quiet',
        'dt',
        'dd',
        '.chip',
        '.id',
        '#verdict',
        'button',
        '.danger',
        'th',
      ]) {
        const contrast = Number(await inPage(page, `contrastOf('${selector}')`))
        assert.ok(contrast >= 4.5, `${selector}: ${contrast}`)
      }
      // WCAG 2.2, 1.4.11: lines and swatches need less contrast than text.
      for (const color of ['blue', 'green', 'amber', 'red', 'grey']) {
        const contrast = Number(await inPage(page, `contrastOf('.swatch.${color}')`))
        assert.ok(contrast >= 3, `${color}: ${contrast}`)
      }
      assertQuiet(observed)
      await page.close()
    })
  }

  test('fits the screen of a phone', async () => {
    const { email } = await app.addCustomer()
    await app.login(email)
    const { page, observed } = await openPage({ width: 360, height: 740 })
    await page.fill('#text', email)
    await page.click('#search button')
    await page.waitForSelector('table')
    assert.equal(await inPage(page, 'document.documentElement.scrollWidth'), 360)
    assertQuiet(observed)
    await page.close()
  })
})
