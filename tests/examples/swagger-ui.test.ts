import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { assertQuiet, type Browser, chromiumHere, openBrowser } from '../support/chromium.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  onPackage,
  ownTests,
  type PreparedExample,
  prepareExample,
  typeProblems,
  where,
} from '../support/example.ts'
import { type RunningProcess, startProcess } from '../support/running-process.ts'

const program = chromiumHere()
const skip = !onPackage && 'swagger-ui-dist is installed only with the packed package'

describe(`Swagger UI ${where}`, { skip }, () => {
  let prepared: PreparedExample
  let database: TestDatabase
  let service: RunningProcess | undefined
  let browser: Browser | undefined
  before(async () => {
    prepared = await prepareExample('swagger-ui')
    database = await createTestDatabase({ migrated: false })
  })
  after(async () => {
    await browser?.close()
    service?.child.kill('SIGTERM')
    await service?.ended
    await database?.drop()
    prepared?.remove()
  })

  test('compiles with the types of the package', async () => assert.equal(await typeProblems(prepared), ''))

  test('passes its tests', async () => assert.ok((await ownTests(prepared)) >= 2))

  test('shows the routes and calls one, under the Content-Security-Policy of the docs page', {
    skip: program === null && 'SWAGGER UI WAS NOT TESTED: Chromium is not installed',
  }, async () => {
    service = startProcess(process.execPath, ['--import', 'tsx', 'main.ts'], {
      cwd: prepared.folder,
      env: { DATABASE_URL: database.url, PORT: '0', BCRYPT_COST: '10' },
    })
    const [, url] = await service.until(/running at (\S+)/)
    browser = await openBrowser(program as string)
    const { page, observed } = await browser.open(`${url}/docs`)
    await page.click('#operations-Login-postLogin .opblock-summary-control')
    await page.click('text=Try it out')
    await page.click('text=Execute')
    const status = await page.textContent('.live-responses-table .response .response-col_status')
    assert.match(status ?? '', /^401/)
    assertQuiet(observed, [401])
  })
})
