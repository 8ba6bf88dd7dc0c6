import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { createTestApp, type TestApp } from '../../src/testing/test-app.ts'
import { assertQuiet, type Browser, chromiumHere, openBrowser } from '../support/chromium.ts'
import { fortyRoutes } from '../support/forty-routes.ts'
import { temporaryFolder } from '../support/running-process.ts'
import { until } from '../support/until.ts'

const WIDTHS = [1440, 800, 390]
const SCREENS = [...WIDTHS.map((width) => [width, 'light'] as const), [390, 'dark'] as const]
const program = chromiumHere()
const axe = axeHere()
const skip = program === null && 'Chromium is not installed: the docs page is NOT TESTED'
const skipAxe = axe === null && 'axe-core is not installed: run npm ci. NOT TESTED'

describe('the docs page with 40 routes', { skip }, () => {
  let app: TestApp
  let browser: Browser
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let secret = ''
  before(async () => {
    folder = await temporaryFolder()
    app = await createTestApp({ title: 'Shop', description: 'Sells `lamps`.', routes: fortyRoutes })
    await app.customer({ email: 'ana@example.com', password: 'correct horse 9' })
    const body = { email: 'ana@example.com', password: 'correct horse 9' }
    secret = (await app.call('/api/login', { body })).body.token
    browser = await openBrowser(program as string)
  })
  after(async () => {
    await browser?.close()
    await app?.close()
    folder?.remove()
  })

  async function openDocs(options: Parameters<Browser['open']>[1] = {}, hash = '') {
    const open = await browser.open(`${app.url}/docs${hash}`, options)
    await open.page.waitForSelector('[aria-current]', { state: 'attached' })
    return open
  }

  /** Opens the page, authorised. */
  async function openAuthorised() {
    const open = await openDocs({ width: 1440 })
    await open.page.fill('input[name=loginToken]', secret)
    return open
  }

  async function sent(page: Page, id: string, status: number): Promise<string> {
    await page.click(`#${id} button[type=submit]`)
    await page.waitForSelector(`#${id} .result .status:text-is("${status}")`)
    return (await page.textContent(`#${id} .result`)) ?? ''
  }

  for (const [width, colorScheme] of SCREENS)
    test(`has no violation of axe-core at ${width} pixels in the ${colorScheme} scheme, and does not scroll sideways`, {
      skip: skipAxe,
    }, async () => {
      const { page, observed } = await openDocs({ width, height: 900, colorScheme })
      await page.evaluate(
        `for (const all of document.querySelectorAll('#postPayments details, #getArticles details')) all.open = true`,
      )
      await page.waitForSelector('#postPayments .example')
      await page.evaluate(axe as string)
      const violations = await page.evaluate(
        `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))`,
      )
      assert.deepEqual(violations, [])
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width)
      if (width < 500) {
        await page.click('#menu')
        const inMenu = await page.evaluate(
          `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))`,
        )
        assert.deepEqual(inMenu, [])
      }
      assertQuiet(observed)
      await page.close()
    })

  test('shows title, version and description of the program', async () => {
    const { page } = await openDocs()
    assert.equal(await page.textContent('#title'), 'Shop')
    assert.equal(await page.textContent('#version'), '0.0.0-tests')
    assert.equal(await page.textContent('#description code'), 'lamps')
    await page.close()
  })

  test('search filters the routes by path, method, summary and group, and Enter opens the first one', async () => {
    const { page } = await openDocs()
    const shown = () => page.locator('nav li:visible').allTextContents()
    const total = (await shown()).length
    assert.ok(total >= 40)
    await page.keyboard.press('/')
    await page.keyboard.type('delete invoices')
    assert.deepEqual(await shown(), ['DELETE/api/invoices/{id}'])
    assert.equal(await page.textContent('#found'), `1 of ${total} routes`)
    await page.keyboard.press('Enter')
    await page.waitForSelector('a[href="#deleteInvoicesById"][aria-current=location]')
    await page.fill('#search', 'upload')
    assert.deepEqual(await shown(), ['PUT/api/files/{name}'])
    await page.fill('#search', 'nothing like this')
    assert.equal(await page.textContent('#found'), `0 of ${total} routes`)
    assert.equal(await page.locator('nav details:visible').count(), 0)
    await page.fill('#search', '')
    assert.equal((await shown()).length, total)
    await page.close()
  })

  test('groups collapse in the navigation and in the page, and a link opens its group', async () => {
    const { page } = await openDocs()
    const group = page.locator('.group', { has: page.locator('#getArticles') })
    await group.locator('> summary').click()
    assert.equal(await page.isVisible('#getArticles'), false)
    await page.click('a[href="#getArticles"]')
    await page.waitForSelector('#getArticles', { state: 'visible' })
    // The browser opens the group of a link by itself, but not that of this event.
    await group.locator('> summary').click()
    assert.equal(await page.isVisible('#getArticles'), false)
    await page.evaluate(`dispatchEvent(new Event('hashchange'))`)
    await page.waitForSelector('#getArticles', { state: 'visible' })
    await page.click('nav summary:has-text("Articles")')
    assert.equal(await page.isVisible('nav a[href="#getArticles"]'), false)
    await page.close()
  })

  test('the menu of a phone opens and closes by keyboard', async () => {
    const { page } = await openDocs({ width: 390 }, '#getParcels')
    const isOpen = async () => {
      const [expanded, visible, inert] = [
        (await page.getAttribute('#menu', 'aria-expanded')) === 'true',
        await page.isVisible('#search'),
        await page.evaluate(`document.querySelector('main').inert`),
      ]
      assert.deepEqual([visible, inert], [expanded, expanded])
      return expanded
    }
    const top = await page.evaluate('scrollY')
    assert.equal(await isOpen(), false)
    await page.focus('#menu')
    await page.keyboard.press('Enter')
    assert.equal(await isOpen(), true)
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate('document.activeElement.id'), 'search')
    await page.keyboard.press('Escape')
    assert.equal(await isOpen(), false)
    assert.equal(await page.evaluate('document.activeElement.id'), 'menu')
    assert.equal(await page.evaluate('scrollY'), top)
    await page.keyboard.press('Space')
    await page.focus('nav a[href="#postPayments"]')
    await page.keyboard.press('Enter')
    assert.equal(await isOpen(), false)
    await until(async () => ((await page.locator('#postPayments').boundingBox())?.y ?? 0) < 200)
    await page.close()
  })

  test('the current route is marked for the address, and while the page scrolls', async () => {
    const { page } = await openDocs({}, '#getComments')
    const isMarked = (id: string) => page.waitForSelector(`nav a[href="#${id}"][aria-current=location]`)
    await isMarked('getComments')
    await page.evaluate(`document.querySelector('#patchReturnsById').scrollIntoView()`)
    await isMarked('patchReturnsById')
    assert.equal(await page.locator('[aria-current]').count(), 1)
    const link = await page.locator('nav a[aria-current]').boundingBox()
    assert.ok(link !== null && link.y >= 0 && link.y < 800, 'the marked link is not visible')
    // The last routes cannot reach the top of the window.
    await page.evaluate(`location.hash = 'postNotes'`)
    await isMarked('postNotes')
    await page.evaluate(`location.hash = 'getLatest'`)
    await isMarked('getLatest')
    await page.close()
  })

  test('a copy button copies the sample of the chosen language', async () => {
    const { page } = await openDocs()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.click('#postArticles [role=tab]:text-is("curl")')
    await page.keyboard.press('ArrowRight')
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'TypeScript')
    await page.click('#postArticles .copyable button')
    await page.waitForSelector('#postArticles .copy :text-is("Copied")')
    const copied = await page.evaluate('navigator.clipboard.readText()')
    assert.equal(copied, await page.textContent('#postArticles [role=tabpanel] pre'))
    assert.match(String(copied), /^const response = await fetch\('http/)
    // Every other operation shows the chosen language, too.
    assert.match((await page.textContent('#getParcels [role=tabpanel] pre')) ?? '', /await fetch/)
    await page.close()
  })

  test('copies without a clipboard, as on a page without TLS, or reports that it cannot', async () => {
    const { page } = await openDocs()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('no clipboard'))`)
    await page.click('#getLivez .copyable button')
    await page.waitForSelector('#getLivez .copy :text-is("Copied")')
    assert.match(String(await page.evaluate('navigator.clipboard.readText()')), /^curl -X GET/)
    await page.evaluate('document.execCommand = () => false')
    await page.click('#getReadyz .copyable button')
    await page.waitForSelector('#getReadyz .copy :text-is("Not copied")')
    await page.close()
  })

  test('an enum is a select, in the query and in the body, and a list takes several lines', async () => {
    const { page, observed } = await openAuthorised()
    const options = await page.locator('#getArticles select[name=state] option').allTextContents()
    assert.deepEqual(options, ['— (default open)', 'draft', 'open', 'paid', 'void'])
    await page.selectOption('#getArticles select[name=state]', 'paid')
    await page.fill('#getArticles textarea[name=tag]', 'new\na&b')
    assert.match((await page.textContent('#getArticles pre')) ?? '', /\?state=paid&tag=new&tag=a%26b'/)
    const result = await sent(page, 'getArticles', 200)
    assert.match(result, /"state": "paid"[^}]*"tag": \[\s*"new",\s*"a&b"\s*\]/)

    await page.selectOption('#postArticles select[name=state]', 'void')
    assert.equal(JSON.parse(await page.inputValue('#postArticles textarea')).state, 'void')
    assert.match(await sent(page, 'postArticles', 201), /"state": "void"/)

    const exact = '{"quantity":9007199254740993}'
    await page.fill('#postArticles textarea', exact)
    await page.selectOption('#postArticles select[name=state]', 'void')
    assert.equal(await page.inputValue('#postArticles textarea'), exact)
    assert.equal(await page.inputValue('#postArticles select[name=state]'), '')
    assertQuiet(observed)
    await page.close()
  })

  test('the input of a path parameter has its example as placeholder', async () => {
    const { page } = await openDocs()
    const placeholder = await page.getAttribute('#getArticlesById input[name=id]', 'placeholder')
    assert.equal(placeholder, '3f2b1c9e-5d47-4a86-9c1d-0f6e8a7b2c34')
    await page.close()
  })

  test('defaults and limits are shown', async () => {
    const { page } = await openDocs()
    const text = (await page.textContent('#postArticles')) ?? ''
    assert.match(text, /title string, length ≥ 1, length ≤ 80/)
    assert.match(text, /quantity integer, ≥ 1, ≤ 99 · optional · default 1/)
    assert.match(text, /tags list of string, length ≤ 20, at most 5 · optional/)
    assert.match(
      (await page.textContent('#getArticles')) ?? '',
      /limit query, string, .* · optional · default "20"/,
    )
    await page.close()
  })

  test('variants of a union have names, and one chooses the body', async () => {
    const { page, observed } = await openAuthorised()
    const names = (id: string) => page.locator(`#${id} .variants summary`).allTextContents()
    assert.deepEqual(await names('postPayments'), ['card', 'transfer', 'card', 'transfer'])
    assert.deepEqual(await names('postNotes'), ['Text', 'Link'])
    await page.selectOption('#postNotes select[name=variant]', 'Link')
    assert.match(await sent(page, 'postNotes', 200), /"link": "https:/)
    assertQuiet(observed)
    await page.close()
  })

  test('responses have examples', async () => {
    const { page } = await openDocs()
    await page.click('#getArticlesById summary:text-is("Example")')
    const example = JSON.parse((await page.textContent('#getArticlesById .example')) ?? '')
    assert.deepEqual([example.success, example.item.title], [true, 'A title'])
    await page.click('#getArticlesById summary:has-text("Failures")')
    await page.click('#getArticlesById .status:text-is("404")')
    await page.waitForSelector('#getArticlesById .example:has-text("not_found")')
    await page.close()
  })

  test('uploads a chosen file with an accepted type', async () => {
    const { page, observed } = await openAuthorised()
    await page.fill('#putFilesByName input[name=name]', 'lamps.csv')
    await page.click('#putFilesByName button[type=submit]')
    assert.equal(await page.textContent('#putFilesByName .result'), '')
    assert.match((await page.textContent('#putFilesByName pre')) ?? '', /text\/csv'[^']+'@file\.csv'/)
    const file = join(folder.path, 'lamps.data')
    writeFileSync(file, 'id,price\nlamp,100\n')
    await page.setInputFiles('#putFilesByName input[type=file]', file)
    assert.match((await page.textContent('#putFilesByName pre')) ?? '', /--data-binary '@lamps\.data'/)
    const result = await sent(page, 'putFilesByName', 200)
    assert.match(result, /"bytes": 18,\s*"text": "id,price\\nlamp,100\\n",\s*"type": "text\/csv"/)
    assertQuiet(observed)
    await page.close()
  })

  test('offers a response that is not JSON as a download', async () => {
    const { page, observed } = await openAuthorised()
    assert.match(await sent(page, 'getFilesReportCsv', 200), /Download november\.csv \(1 kB\)/)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.click('#getFilesReportCsv .result a[download]'),
    ])
    assert.equal(download.suggestedFilename(), 'november.csv')
    assert.equal(readFileSync(await download.path(), 'utf8'), 'id,price\nlamp,100\n')
    assertQuiet(observed)
    await page.close()
  })

  test('offers JSON of over 100 kB as a download, without its text', async () => {
    const { page, observed } = await openAuthorised()
    for (const [length, isShown] of [
      [100_000, true],
      [100_001, false],
    ] as const) {
      const body = JSON.stringify('x'.repeat(length - 2))
      await page.route('**/api/articles', (call) => call.fulfill({ contentType: 'application/json', body }))
      const result = await sent(page, 'getArticles', 200)
      assert.equal(/Download/.test(result), !isShown)
      assert.equal(await page.locator('#getArticles .response').count(), isShown ? 1 : 0)
      if (isShown) continue
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.click('#getArticles .result a[download]'),
      ])
      assert.equal(readFileSync(await download.path(), 'utf8'), body)
    }
    assertQuiet(observed)
    await page.close()
  })

  test('shows JSON with numbers that JavaScript would change as it is', async () => {
    const { page, observed } = await openAuthorised()
    const body = '{"id":9007199254740993,"x":1e400}'
    await page.route('**/api/articles', (call) => call.fulfill({ contentType: 'application/json', body }))
    await sent(page, 'getArticles', 200)
    assert.equal(await page.textContent('#getArticles .response'), body)
    assertQuiet(observed)
    await page.close()
  })

  test('reports a redirect', async () => {
    const { page } = await openDocs()
    await page.click('#getLatest button[type=submit]')
    await page.waitForSelector('#getLatest .result:has-text("redirects")')
    await page.close()
  })

  test('is saved as pictures', {
    skip: process.env.DOCS_PICTURE !== 'on' && 'DOCS_PICTURE=on takes them',
  }, async () => {
    for (const width of WIDTHS) {
      const { page } = await openDocs({ width, height: 900 }, '#getArticles')
      const picture = join(import.meta.dirname, `../../docs/images/docs-page-${width}.png`)
      writeFileSync(picture, await page.screenshot())
      await page.close()
    }
  })
})

/** The source of axe-core, or null. */
function axeHere(): string | null {
  try {
    return readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
  } catch {
    return null
  }
}
