import type * as v from 'valibot'
import type { ThrownError } from '../api-error.ts'
import type { FailureReason } from '../failure-reasons.ts'
import type { ResponseFields } from '../response/json-body.ts'
import type { DeclaredResponse, DeclaredResponses, RawBody, Route, Schema } from './declared-route.ts'
import type { PathParams } from './route-pattern.ts'

/** A route with its types for clients, which only the compiler reads. */
export interface TypedRoute<Types extends RouteTypes> extends Route {
  readonly '~types'?: Types
}

/** What a client of one route sends and receives. */
export interface RouteTypes {
  /** As declared: method and path below `/api`. */
  readonly pattern: string
  readonly params: object
  readonly query: object
  /** A `Blob` for a body of bytes, undefined for none. */
  readonly body: unknown
  /** The status, and the parsed JSON; null for a response that is not JSON. */
  readonly success: { readonly status: number; readonly data: unknown }
  readonly reason: string
}

/**
 * The API of a list of routes, or of the function that returns it, for `createApiClient`. The list must not be annotated as
 * `Route[]`, which would erase the types of its routes.
 */
export type InferApi<Routes> = Routes extends (...args: never) => infer List
  ? InferApi<List>
  : Routes extends readonly (infer One)[]
    ? { readonly [Types in TypesIn<One> as Types['pattern']]: Types }
    : never

type TypesIn<R> = R extends { readonly '~types'?: infer Types } ? Extract<Types, RouteTypes> : Untyped

/** The only pattern of a list that has lost its types, so that the compiler shows the reason. */
interface Untyped extends RouteTypes {
  readonly pattern: 'The list is annotated as Route[], which erases its types: remove the annotation.'
}

/** The types of a route, from the parts of its declaration. */
export interface DeclaredTypes<Pattern extends string, B, Q, P, R, S, Status extends number, Thrown>
  extends RouteTypes {
  readonly pattern: Pattern
  readonly params: {
    readonly [Name in keyof PathParams<Pattern>]: Name extends keyof Input<P> ? Input<P>[Name] : string
  }
  readonly query: Q extends Schema ? Input<Q> & object : Readonly<Record<string, string>>
  readonly body: B extends RawBody ? Blob : B extends Schema ? Input<B> : undefined
  readonly success: S extends DeclaredResponses
    ? { [Code in keyof S & number]: Success<Code, S[Code], R> }[keyof S & number]
    : Success<Status, unknown, R>
  readonly reason: FailureReason | ThrownReason<Thrown>
}

interface Success<Status extends number, Own, R> {
  readonly status: Status
  readonly data: Own extends DeclaredResponse & { readonly type: infer Type }
    ? Type extends `${string}json${string}`
      ? unknown
      : null
    : Status extends 200 | 201 | 202 | 203
      ? { readonly success: true } & Json<R extends Schema ? v.InferOutput<R> : ResponseFields>
      : null
}

/** What JSON makes of a value: a `Date` is sent as text. */
type Json<T> = T extends { toJSON(): infer Shown }
  ? Json<Shown>
  : T extends object
    ? { [Name in keyof T]: Json<T[Name]> }
    : T

type Input<S> = S extends Schema ? v.InferInput<S> : unknown

type ThrownReason<Thrown> = Thrown extends readonly ThrownError[]
  ? Extract<Thrown[number], new () => unknown> extends new () => {
      readonly reason: infer Reason extends string
    }
    ? Reason
    : never
  : never
