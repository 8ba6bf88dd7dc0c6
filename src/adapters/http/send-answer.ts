import { once } from 'node:events'
import * as v from 'valibot'
import type { Soon } from '../../application/soon.ts'
import { COMMON, CONTENT_TYPE, sendSuccess, writeHead } from './answer.ts'
import { AnswerFile, sendFile } from './answer-file.ts'
import { type AnswerFields, AnswerText, textOf } from './answer-text.ts'
import type { Route } from './declared-route.ts'
import type { Exchange } from './exchange.ts'
import { conforming } from './response-mismatch.ts'
import { StreamedList } from './streamed-list.ts'

/** So much of a list is written at once. */
const CHUNK_CHARACTERS = 16 * 1024

/** Answers a success with what a handler answered, without what its route does not declare. */
export function sendAnswer(
  exchange: Exchange,
  { status, returns }: Pick<Route, 'status' | 'returns'>,
  answer: AnswerFields | AnswerText | AnswerFile | StreamedList | undefined,
): Soon<void> {
  if (answer instanceof AnswerFile) return sendFile(exchange, answer)
  if (answer instanceof StreamedList) return sendList(exchange, status, answer, returns)
  const declared = returns === null || answer instanceof AnswerText ? answer : conforming(returns, answer)
  return sendSuccess(exchange, status, declared)
}

async function sendList(
  exchange: Exchange,
  status: number,
  { field, items, fields }: StreamedList,
  returns: Route['returns'],
): Promise<void> {
  const declared = returns === null ? fields : conforming(restOf(returns, field), fields)
  const texts = textsOf(items, returns === null ? null : itemOf(returns, field))
  try {
    // What fails before anything was sent is answered like any other failure.
    let next = await texts.next()
    if (exchange.answered) return
    const { request, response } = exchange
    writeHead(exchange, status, [...CONTENT_TYPE, ...COMMON, 'X-Request-Id', exchange.requestId])
    if (!exchange.isWhole) request.resume()
    if (request.method === 'HEAD') return void response.end()
    exchange.streams = true
    let text = `${textOf(declared).slice(0, -1)},${JSON.stringify(field)}:[`
    for (let comma = ''; !next.done; comma = ',', next = await texts.next()) {
      exchange.signal.throwIfAborted()
      text += comma + next.value
      if (text.length < CHUNK_CHARACTERS) continue
      if (!response.write(text)) await once(response, 'drain', { signal: exchange.signal })
      text = ''
    }
    exchange.streams = false
    response.end(`${text}]}`)
  } catch (error) {
    // A list that ends early must not look like a whole one.
    if (exchange.answered) exchange.response.destroy()
    throw exchange.signal.aborted ? exchange.signal.reason : error
  } finally {
    await texts.return()
  }
}

async function* textsOf(
  items: StreamedList['items'],
  schema: v.GenericSchema | null,
): AsyncGenerator<string, void> {
  for await (const item of items)
    yield JSON.stringify(schema === null ? item : conforming(schema, item)) ?? 'null'
}

/** What is declared beside the list. What looks at an answer as a whole cannot look at one that is sent while it is made. */
function restOf(returns: NonNullable<Route['returns']>, field: string): NonNullable<Route['returns']> {
  const { [field]: list, ...entries } = returns.entries
  if ([returns, list, unwrapped(list)].some(hasChecks))
    throw new Error(`The route returns ${field} with checks of the whole, which a streamed list cannot have.`)
  return v.object(entries)
}

function hasChecks(schema: object | undefined): boolean {
  const { pipe = [] } = (schema ?? {}) as {
    pipe?: readonly v.PipeItem<unknown, unknown, v.BaseIssue<unknown>>[]
  }
  return pipe.slice(1).some(({ kind, type }) => kind !== 'metadata' && type !== 'readonly')
}

/** A list that may be left out is one where it is answered. */
function unwrapped(schema: v.ObjectEntries[string] | undefined): v.ObjectEntries[string] | undefined {
  return schema !== undefined && 'wrapped' in schema
    ? unwrapped(schema.wrapped as v.ObjectEntries[string])
    : schema
}

function itemOf({ entries }: NonNullable<Route['returns']>, field: string): v.GenericSchema {
  const list = unwrapped(entries[field])
  if (list?.type !== 'array') throw new Error(`The route returns no list named ${field}.`)
  return (list as v.ArraySchema<v.GenericSchema, undefined>).item
}
