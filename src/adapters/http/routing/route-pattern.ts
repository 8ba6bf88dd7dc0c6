import type { Method } from './declared-route.ts'

/** Method and path below `/api`. A segment such as `:id` is a parameter. */
export type RoutePattern = `${Method} /${string}`

type ParameterName<Path extends string> = Path extends `${infer Part}/${infer Rest}`
  ? ParameterName<Part> | ParameterName<Rest>
  : Path extends `:${infer Name}`
    ? Name
    : never

/** The parameters of a path, by name. */
export type PathParams<Pattern extends string> = { readonly [Name in ParameterName<Pattern>]: string }
