/** The part of the platform's `AbortSignal` that the core uses, so that it depends on no platform. */
export interface Cancellation {
  readonly aborted: boolean
  /** The error with which cancelled work rejects. */
  readonly reason: unknown
  addEventListener(event: 'abort', listener: () => void): void
  removeEventListener(event: 'abort', listener: () => void): void
}
