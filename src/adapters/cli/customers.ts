import { type Customer, newEmailProblem, trimmedEmail } from '../../domain/customer.ts'
import { ValidationFailed } from '../../domain/errors.ts'
import { tokenState } from '../../domain/login-token.ts'
import { requireConfirmation, type YesFlag } from './confirmation.ts'
import { createCustomerTable, customerDocument, customerReport } from './customer-report.ts'
import { type Io, write } from './io.ts'
import { type JsonFlag, jsonListing, tableListing, toResult } from './json.ts'
import { customerFields } from './json-fields.ts'
import { lineWidth } from './line-width.ts'
import { newPassword, type PasswordSource } from './new-password.ts'
import type { Operations, Store } from './operations.ts'
import { printable } from './printable.ts'
import { Refusal } from './refusal.ts'
import { formatTokenCount, requireCustomer } from './require-customer.ts'
import { sessionReport } from './session-report.ts'

const PAGE = 500
/** A change that revokes tokens resolves after every instance has applied it, so the text is true when printed. */
const EVERYWHERE = ', on every instance'
const UNREACHABLE_THROTTLE =
  'Each process of the service counts failed logins in its own memory, which a command cannot reach. Restart the service.'

/** The commands on customers as functions. Each prints what it did; on failure it throws. */
export function createCustomerCommands({ withStore }: Pick<Operations, 'withStore'>, io: Io) {
  const print = (text: string) => write(io.stdout, text)

  return {
    /** `customer add` */
    async add(email: string, { name, ...source }: PasswordSource & JsonFlag & { readonly name?: string }) {
      const problem = newEmailProblem(trimmedEmail(email))
      if (problem !== null) throw new ValidationFailed({ email: [problem] })
      const password = await newPassword(source, io)
      const added = await withStore(
        ({ customers, deadline }) => customers.add({ email, name: name ?? null, password }, deadline()),
        { mayCreate: true },
      )
      if (added === null) throw new Refusal(`A customer ${trimmedEmail(email)} exists already.`)
      const sentence = `Added ${printable(added.email)}.`
      await print(toResult(source, { customer: customerFields(added) }, sentence))
    },

    /** `customer password` */
    async password(email: string, source: PasswordSource & JsonFlag) {
      const password = await newPassword(source, io)
      await change(email, async (customer, { customers, deadline }) => {
        const revoked = requireCustomer(email, await customers.setPassword(customer.id, password, deadline()))
        const sentence = `Set the password of ${printable(customer.email)}; ${formatTokenCount(revoked)} revoked${EVERYWHERE}.`
        return toResult(source, { ...named(customer), revoked }, sentence)
      })
    },

    /** `customer list` */
    list: ({ json = false }: JsonFlag = {}) =>
      withStore(async ({ listCustomers }) => {
        const listing = json
          ? jsonListing('customers', customerFields)
          : tableListing(createCustomerTable(lineWidth(io.stdout)))
        let page = await listCustomers(null, PAGE)
        if (page.length === 0 && !json) await write(io.stderr, 'There are no customers yet.\n')
        while (page.length > 0) {
          if (!(await print(listing.page(page)))) return
          page = page.length < PAGE ? [] : await listCustomers(page.at(-1)?.email ?? null, PAGE)
        }
        await print(listing.end())
      }),

    /** `customer show` */
    show: (email: string, { json = false }: JsonFlag = {}) =>
      change(email, async (customer, { tokensOf, nowMs }) =>
        (json ? customerDocument : customerReport)(customer, await tokensOf(customer.id), {
          nowMs: nowMs(),
          maxWidth: lineWidth(io.stdout),
        }),
      ),

    /** `customer sessions` */
    sessions: (email: string, flags: JsonFlag = {}) =>
      change(email, async (customer, { sessions, deadline }) =>
        sessionReport(await sessions.listByCustomer(customer.id, deadline()), flags, lineWidth(io.stdout)),
      ),

    /** `customer unlock` */
    unlock: (email: string, flags: JsonFlag = {}) =>
      change(email, async (customer, { customers, sharesThrottle, deadline }) => {
        if (!sharesThrottle) throw new Refusal(UNREACHABLE_THROTTLE)
        const revoked = await customers.unlock(customer, deadline())
        const ended = revoked === 0 ? '' : `; ${formatTokenCount(revoked)} revoked${EVERYWHERE}`
        const sentence = `Forgot the failed logins of ${printable(customer.email)}${ended}.`
        return toResult(flags, { ...named(customer), revoked }, sentence)
      }),

    /** `customer disable` */
    disable: (email: string, flags: JsonFlag = {}) =>
      change(email, async (customer, { customers, deadline }) => {
        const revoked = requireCustomer(email, await customers.disable(customer.id, deadline()))
        const sentence = `Disabled ${printable(customer.email)}; ${formatTokenCount(revoked)} revoked${EVERYWHERE}.`
        return toResult(flags, { ...named(customer), revoked }, sentence)
      }),

    /** `customer enable` */
    enable: (email: string, flags: JsonFlag = {}) =>
      change(email, async (customer, { customers, deadline }) => {
        requireCustomer(email, (await customers.enable(customer.id, deadline())) || null)
        return toResult(flags, named(customer), `Enabled ${printable(customer.email)}.`)
      }),

    /** `customer delete` */
    delete: (email: string, flags: YesFlag & JsonFlag = {}) =>
      change(email, async (customer, { customers, deadline, tokensOf, nowMs }) => {
        await requireConfirmation(`Delete ${printable(customer.email)} and all tokens?`, flags, io)
        const held = await tokensOf(customer.id)
        const active = held.filter((token) => tokenState(token, nowMs()) === 'active').length
        requireCustomer(email, (await customers.delete(customer.id, deadline())) || null)
        const sentence = `Deleted ${printable(customer.email)}; ${formatTokenCount(active)} revoked${EVERYWHERE}.`
        return toResult(flags, { ...named(customer), revoked: active }, sentence)
      }),
  }

  async function change(email: string, act: (customer: Customer, store: Store) => Promise<string>) {
    const report = await withStore(async (store) =>
      act(requireCustomer(email, await store.customers.find(email, store.deadline())), store),
    )
    await print(report)
  }
}

function named({ id, email }: Customer): object {
  return { id, email }
}
