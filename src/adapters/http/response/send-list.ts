import * as v from 'valibot'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import type { Route } from '../routing/declared-route.ts'
import { unwrap } from '../routing/schema-entries.ts'
import type { Exchange } from '../server/exchange.ts'
import { toJsonText } from './json-body.ts'
import { COMMON, CONTENT_TYPE, writeHead } from './response.ts'
import { conforming } from './response-mismatch.ts'
import { type StreamedBody, sendStream } from './send-stream.ts'
import type { StreamedList } from './streamed-list.ts'

/** Characters of a list that are written at once. */
const CHUNK_CHARACTERS = 16 * 1024

/** Sends a response whose list is read while it is sent, without fields that the route does not declare. */
export async function sendList(
  exchange: Exchange,
  route: Route,
  { field, items, fields }: StreamedList,
  authenticate: () => MaybePromise<unknown>,
): Promise<void> {
  const { status, returns } = route
  const declared = returns === null ? fields : conforming(withoutField(returns, field), fields)
  const texts = serializeItems(items, returns === null ? null : itemSchema(returns, field))
  let next: IteratorResult<string>
  const streamed: StreamedBody = {
    async begin() {
      next = await texts.next()
    },
    writeHead() {
      writeHead(exchange, status, [...CONTENT_TYPE, ...COMMON, 'X-Request-Id', exchange.requestId])
    },
    async produce(write) {
      let text = `${toJsonText(declared).slice(0, -1)},${JSON.stringify(field)}:[`
      for (let comma = ''; !next.done; comma = ',', next = await texts.next()) {
        exchange.signal.throwIfAborted()
        text += comma + next.value
        if (text.length < CHUNK_CHARACTERS) continue
        await write(text)
        text = ''
      }
      return `${text}]}`
    },
    close: () => texts.return(),
  }
  await sendStream(exchange, streamed, authenticate)
}

async function* serializeItems(
  items: StreamedList['items'],
  schema: v.GenericSchema | null,
): AsyncGenerator<string, void> {
  for await (const item of items)
    yield JSON.stringify(schema === null ? item : conforming(schema, item)) ?? 'null'
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
