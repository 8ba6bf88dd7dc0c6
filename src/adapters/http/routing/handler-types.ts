import type { Readable } from 'node:stream'
import type * as v from 'valibot'
import type { Caller } from '../../../application/use-cases/authenticate.ts'
import type { CustomResponse, ResponseContent } from '../response/custom-response.ts'
import type { JsonBody, ResponseFields } from '../response/json-body.ts'
import type { StreamedList } from '../response/streamed-list.ts'
import type { Auth, DeclaredResponses, Schema } from './declared-route.ts'

/** What a schema returns, or `Fallback` without one. */
export type Output<S, Fallback> = S extends Schema ? v.InferOutput<S> : Fallback

/** What the handler gets as `body`, and with `rawBody` its bytes. */
export type BodyContext<B, Raw> = (B extends 'bytes'
  ? { readonly body: Uint8Array }
  : B extends 'stream'
    ? { readonly body: Readable }
    : { readonly body: Output<B, undefined> }) &
  (Raw extends true ? { readonly rawBody: Uint8Array } : unknown)

/** What the handler gets of its caller. */
export type CallerContext<A extends Auth> = A extends 'customer'
  ? Caller
  : A extends 'service'
    ? { readonly service: string }
    : unknown

/**
 * What a handler may return: the fields, their JSON text, the fields with one list streamed, or a response of `respond`,
 * with the fields of `returns` and the statuses of `responses` when the route declares them.
 */
export type TypedResult<R, S> = R extends Schema
  ? v.InferInput<R> extends ResponseFields
    ?
        | DeepReadonly<v.InferInput<R>>
        | JsonBody
        | Streamable<DeepReadonly<v.InferInput<R>>>
        | Responded<S, DeepReadonly<v.InferInput<R>>>
    : never
  : ResponseFields | JsonBody | StreamedList | Responded<S, ResponseFields>

type Responded<S, Fields extends ResponseFields> = CustomResponse<
  S extends DeclaredResponses ? keyof S & number : number,
  ResponseContent | Fields | null
>

/** A response with any one of its lists streamed. */
type Streamable<A> = {
  [Field in keyof A & string]: NonNullable<A[Field]> extends readonly (infer Item)[]
    ? StreamedList<Field, Item, Omit<A, Field>>
    : never
}[keyof A & string]

/** The type with readonly properties and lists, because the service only reads a response. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: DeepReadonly<T[Name]> }
    : T
