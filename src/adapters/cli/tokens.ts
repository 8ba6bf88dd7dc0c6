import { RevocationIncomplete } from '../../application/management/revoke-all-issued-before.ts'
import type { Customer } from '../../domain/customer.ts'
import { tokenState } from '../../domain/login-token.ts'
import { needsConfirmation, requireConfirmation, type YesFlag } from './confirmation.ts'
import { explain } from './explain.ts'
import { Interrupted, interruptible } from './interruption.ts'
import { type Io, write } from './io.ts'
import { type JsonFlag, toJsonDocument, toResult } from './json.ts'
import { tokenFields } from './json-fields.ts'
import { lineWidth } from './line-width.ts'
import type { Operations, Store } from './operations.ts'
import { printable, printableTime } from './printable.ts'
import { Refusal } from './refusal.ts'
import { formatTokenCount, requireCustomer } from './require-customer.ts'
import { momentAhead, momentBack, parseDuration } from './times.ts'
import { createTokenListing } from './token-report.ts'

const PAGE = 500

/** The options of `token create`. */
export interface CreateOptions extends JsonFlag {
  readonly name: string
  readonly ability?: readonly string[]
  readonly expires?: string
}

/** The commands on tokens as functions. Each prints what it did; on failure it throws. */
export function createTokenCommands({ withStore }: Pick<Operations, 'withStore'>, io: Io) {
  const print = (text: string) => write(io.stdout, text)
  const maxWidth = lineWidth(io.stdout)

  return {
    /** `token create` */
    async create(email: string, { name, ability: abilities = [], expires, json = false }: CreateOptions) {
      const expiry = expires === undefined ? () => null : momentAhead('--expires', expires)
      const { customer, token, nowMs } = await withStore(async (store) => {
        const owner = await findCustomer(email, store)
        const expiresAtMs = expiry(store.nowMs())
        if (expiresAtMs !== null && expiresAtMs <= store.nowMs())
          throw new Refusal('--expires must be in the future.')
        const input = { customerId: owner.id, name, abilities, expiresAtMs }
        const created = await store.tokens.create(input, store.deadline())
        return { customer: owner, token: created, nowMs: store.nowMs() }
      })
      if (token === null) throw new Refusal(`The customer ${printable(customer.email)} is disabled or gone.`)
      if (json) {
        await print(toJsonDocument({ token: tokenFields(token.token, nowMs), secret: token.secret }))
        return
      }
      await write(io.stderr, `The token ${printable(name)}. It is shown only once:\n`)
      await print(`${token.secret}\n`)
    },

    /** `token list` */
    async list(email: string | undefined, { json = false }: JsonFlag = {}) {
      if (email !== undefined) return listByCustomer(email, json)
      await withStore(async ({ tokens, deadline, nowMs }) => {
        const listing = createTokenListing(json, { columns: 'with owners', nowMs: nowMs(), maxWidth })
        let page = await tokens.list({ after: null, limit: PAGE }, deadline())
        if (page.tokens.length === 0 && !json) await write(io.stderr, 'There are no tokens yet.\n')
        while (page.tokens.length > 0) {
          if (!(await print(listing.page(page.tokens)))) return
          if (page.end === null) break
          page = await tokens.list({ after: page.end, limit: PAGE }, deadline())
        }
        await print(listing.end())
      })
    },

    /** `token revoke <email>` */
    async revoke(email: string, { name, ...flags }: YesFlag & JsonFlag & { readonly name?: string }) {
      const { customer, revoked } = await withStore(async (store) => {
        const found = await findCustomer(email, store)
        // Only for the question: no list may delay a revocation by a script.
        if (needsConfirmation(flags, io)) await confirmRevocation(found, store, name)
        return {
          customer: found,
          revoked: await store.tokens.revoke(found.id, name === undefined ? {} : { name }, store.deadline()),
        }
      })
      if (revoked === 0 && name !== undefined)
        throw new Refusal(`${printable(customer.email)} has no active token ${printable(name)}.`)
      const sentence = `Revoked ${formatTokenCount(revoked)} of ${printable(customer.email)}, on every instance.`
      await print(toResult(flags, { revoked }, sentence))
    },

    /** `token revoke --issued-before` */
    async revokeIssuedBefore(text: string, flags: YesFlag & JsonFlag = {}) {
      const before = momentBack('--issued-before', text)
      const revoked = await interruptible((signal) =>
        withStore(async ({ tokens, deadline, nowMs }) => {
          const beforeMs = before(nowMs())
          if (beforeMs > nowMs()) throw new Refusal('--issued-before must be in the past.')
          const time = printableTime(beforeMs)
          signal.throwIfAborted()
          const question = `Revoke the tokens of all customers issued before ${time}?`
          await requireConfirmation(question, flags, io, signal)
          return tokens.revokeIssuedBefore(beforeMs, deadline, signal)
        }),
      ).catch((error: unknown) => {
        if (error instanceof RevocationIncomplete) throw new Refusal(describeIncomplete(error))
        throw error instanceof Interrupted ? new Refusal('Interrupted; nothing was changed.') : error
      })
      const sentence = `Revoked ${formatTokenCount(revoked)} of all customers, on every instance.`
      await print(toResult(flags, { revoked }, sentence))
    },

    /** `token prune` */
    async prune({ olderThan, ...flags }: JsonFlag & { readonly olderThan?: string }) {
      const olderThanMs = olderThan === undefined ? null : parseDuration('--older-than', olderThan)
      const pruned = await withStore(({ tokens, deadline, tokenRetentionMs }) =>
        tokens.prune(olderThanMs ?? tokenRetentionMs, deadline),
      )
      const sentence = `Removed ${formatTokenCount(pruned)} that had ended.`
      await print(toResult(flags, { removed: pruned }, sentence))
    },
  }

  async function confirmRevocation(
    customer: Customer,
    store: Store,
    name: string | undefined,
  ): Promise<void> {
    const active = (await store.tokensOf(customer.id)).filter(
      (token) => tokenState(token, store.nowMs()) === 'active' && (name ?? token.name) === token.name,
    )
    const question = `Revoke ${formatTokenCount(active.length)} of ${printable(customer.email)}?`
    if (active.length > 1) await requireConfirmation(question, {}, io)
  }

  async function listByCustomer(email: string, json: boolean): Promise<void> {
    const report = await withStore(async (store) => {
      const { id } = await findCustomer(email, store)
      const tokens = await store.tokens.listByCustomer(id, store.deadline())
      if (tokens.length === 0 && !json) return null
      const listing = createTokenListing(json, { columns: 'of one', nowMs: store.nowMs(), maxWidth })
      return listing.page(tokens.map((token) => ({ token }))) + listing.end()
    })
    await (report === null ? write(io.stderr, `${email} has no tokens yet.\n`) : print(report))
  }
}

async function findCustomer(email: string, { customers, deadline }: Store): Promise<Customer> {
  return requireCustomer(email, await customers.find(email, deadline()))
}

function describeIncomplete({ revoked, cause }: RevocationIncomplete): string {
  const reason = cause instanceof Interrupted ? 'interrupted.' : `then failed: ${explain(cause).join(' ')}`
  return `Revoked ${formatTokenCount(revoked)}; ${reason} Run it again to finish.`
}
