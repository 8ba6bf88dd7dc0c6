/** A setting for services whose clients appear to come from many addresses. */
export const BEHIND_PROXY = { TRUST_PROXY: '1' }

/** Returns a header that gives a request a new address, so that limits by address do not count it with others. */
export function fromAnotherAddress(): { readonly 'X-Forwarded-For': string } {
  const [a, b, c] = crypto.getRandomValues(new Uint8Array(3))
  return { 'X-Forwarded-For': `10.${a}.${b}.${c}` }
}
