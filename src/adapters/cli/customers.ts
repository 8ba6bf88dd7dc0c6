import { type Customer, newEmailProblem, trimmedEmail } from '../../domain/customer.ts'
import { ValidationFailed } from '../../domain/errors.ts'
import { tokenState } from '../../domain/login-token.ts'
import { requireConfirmation, type YesFlag } from './confirmation.ts'
import { createCustomerTable, customerDocument, customerReport } from './customer-report.ts'
import { type Io, write } from './io.ts'
import { type JsonFlag, jsonListing, tableListing } from './json.ts'
import { customerFields } from './json-fields.ts'
import { newPassword, type PasswordSource } from './new-password.ts'
import type { Operations, Store } from './operations.ts'
import { printable } from './printable.ts'
import { Refusal } from './refusal.ts'
import { formatTokenCount, requireCustomer } from './require-customer.ts'

const PAGE = 500
/** A change that revokes tokens resolves after every instance has applied it, so the text is true when printed. */
const EVERYWHERE = ', on every instance'

/** The commands on customers as functions. Each prints what it did; on failure it throws. */
export function createCustomerCommands({ withStore }: Pick<Operations, 'withStore'>, io: Io) {
  const print = (text: string) => write(io.stdout, text)

  return {
    /** `customer add` */
    async add(email: string, { name, ...source }: PasswordSource & { readonly name?: string }) {
      const problem = newEmailProblem(trimmedEmail(email))
      if (problem !== null) throw new ValidationFailed({ email: [problem] })
      const password = await newPassword(source, io)
      const added = await withStore(
        ({ customers, deadline }) => customers.add({ email, name: name ?? null, password }, deadline()),
        { mayCreate: true },
      )
      if (added === null) throw new Refusal(`A customer ${trimmedEmail(email)} exists already.`)
      await print(`Added ${printable(added.email)}.\n`)
    },

    /** `customer password` */
    async password(email: string, source: PasswordSource) {
      const password = await newPassword(source, io)
      await change(email, async (customer, { customers, deadline }) => {
        const revoked = requireCustomer(email, await customers.setPassword(customer.id, password, deadline()))
        return `Set the password of ${printable(customer.email)}; ${formatTokenCount(revoked)} revoked${EVERYWHERE}.\n`
      })
    },

    /** `customer list` */
    list: ({ json = false }: JsonFlag = {}) =>
      withStore(async ({ listCustomers }) => {
        const listing = json ? jsonListing('customers', customerFields) : tableListing(createCustomerTable())
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
        (json ? customerDocument : customerReport)(customer, await tokensOf(customer.id), nowMs()),
      ),

    /** `customer disable` */
    disable: (email: string) =>
      change(email, async (customer, { customers, deadline }) => {
        const revoked = requireCustomer(email, await customers.disable(customer.id, deadline()))
        return `Disabled ${printable(customer.email)}; ${formatTokenCount(revoked)} revoked${EVERYWHERE}.\n`
      }),

    /** `customer enable` */
    enable: (email: string) =>
      change(email, async (customer, { customers, deadline }) => {
        requireCustomer(email, (await customers.enable(customer.id, deadline())) || null)
        return `Enabled ${printable(customer.email)}.\n`
      }),

    /** `customer delete` */
    delete: (email: string, flags: YesFlag = {}) =>
      change(email, async (customer, { customers, deadline, tokensOf, nowMs }) => {
        await requireConfirmation(`Delete ${printable(customer.email)} and all tokens?`, flags, io)
        const held = await tokensOf(customer.id)
        const active = held.filter((token) => tokenState(token, nowMs()) === 'active').length
        requireCustomer(email, (await customers.delete(customer.id, deadline())) || null)
        return `Deleted ${printable(customer.email)}; ${formatTokenCount(active)} revoked${EVERYWHERE}.\n`
      }),
  }

  async function change(email: string, act: (customer: Customer, store: Store) => Promise<string>) {
    const report = await withStore(async (store) =>
      act(requireCustomer(email, await store.customers.find(email, store.deadline())), store),
    )
    await print(report)
  }
}
