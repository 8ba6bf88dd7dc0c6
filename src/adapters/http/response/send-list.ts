import * as v from 'valibot'
import { isPromise, type MaybePromise } from '../../../lib/maybe-promise.ts'
import type { Route } from '../routing/declared-route.ts'
import { unwrap } from '../routing/schema-entries.ts'
import type { Exchange } from '../server/exchange.ts'
import { toJsonText } from './json-body.ts'
import { ListWriter } from './list-writer.ts'
import { conforming } from './response-mismatch.ts'
import type { StreamedList } from './streamed-list.ts'

/**
 * Sends a list while its source is read. A failure before the first bytes are sent gets a response like any other; later,
 * the response is broken off. Rejects with the failure, also while the source is waited for.
 */
export function sendList(
  exchange: Exchange,
  route: Route,
  { field, items, fields }: StreamedList,
  authenticate: () => MaybePromise<unknown>,
): Promise<void> {
  const { status, returns } = route
  const declared = returns === null ? fields : conforming(withoutField(returns, field), fields)
  const schema = returns === null ? null : itemSchema(returns, field)
  return new Promise((resolve, reject) => {
    let failure: unknown = null
    const fail = (error: unknown) => {
      failure ??= exchange.signal.aborted ? exchange.signal.reason : error
      writer.abandon()
      reject(failure)
    }
    const writer = new ListWriter({ exchange, status, authenticate, onFailure: fail })
    const head = `${toJsonText(declared).slice(0, -1)},${JSON.stringify(field)}:[`
    copyItems().then(resolve, fail)

    async function copyItems(): Promise<void> {
      const source = iterate(items)
      try {
        for (let before = head; ; before = ',') {
          const step = source.next()
          const next = isPromise(step) ? await step : step
          if (failure !== null) return
          if (next.done) return await writer.end(before === head ? `${head}]}` : ']}')
          const item = isPromise(next.value) ? await next.value : next.value
          const text = JSON.stringify(schema === null ? item : conforming(schema, item)) ?? 'null'
          if (exchange.request.method === 'HEAD') return await writer.end('')
          const writing = writer.add(before + text)
          if (isPromise(writing)) await writing
          exchange.signal.throwIfAborted()
        }
      } finally {
        await source.return?.()
      }
    }
  })
}

function iterate(items: StreamedList['items']): AsyncIterator<unknown> | Iterator<unknown> {
  return Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
}

/** Returns the schema without the list. Throws if the schema checks the whole response, which streaming cannot support. */
function withoutField(returns: NonNullable<Route['returns']>, field: string): NonNullable<Route['returns']> {
  const { [field]: list, ...entries } = returns.entries
  if ([returns, list, list && unwrap(list as v.GenericSchema)].some(hasChecks))
    throw new Error(`The route returns ${field} with checks of the whole, which a streamed list cannot have.`)
  return v.object(entries)
}

function hasChecks(schema: object | undefined): boolean {
  const { pipe = [] } = (schema ?? {}) as {
    pipe?: readonly v.PipeItem<unknown, unknown, v.BaseIssue<unknown>>[]
  }
  return pipe.slice(1).some(({ kind, type }) => kind !== 'metadata' && type !== 'readonly')
}

function itemSchema({ entries }: NonNullable<Route['returns']>, field: string): v.GenericSchema {
  const declared = entries[field] as v.GenericSchema | undefined
  const list = declared && unwrap(declared)
  if (list?.type !== 'array') throw new Error(`The route returns no list named ${field}.`)
  return (list as v.ArraySchema<v.GenericSchema, undefined>).item
}
