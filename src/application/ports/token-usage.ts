/** Records when tokens were last used. */
export interface TokenUsage {
  /** Records that the token was used now. Called for each request, so it neither throws nor waits. */
  used(tokenId: string): void
}
