/** Remembers when tokens were last used. */
export interface TokenUsage {
  /** Notes a use; called for each request, it neither throws nor waits. */
  used(tokenId: string): void
}
