/** Records when tokens were last used. */
export interface TokenUsage {
  /** Records that the token was used now. Called for each request, so it neither throws nor waits. */
  used(tokenId: string): void
  /**
   * Returns when the token was last used as far as this process knows beyond what is stored, in milliseconds since the Unix
   * epoch, or null. Called for each request when idle tokens expire. Left out: idle expiry knows only stored uses.
   */
  lastUseMs?(tokenId: string): number | null
}
