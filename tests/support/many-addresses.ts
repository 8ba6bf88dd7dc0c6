/** A setting for services whose clients come from many addresses, as far as the service can tell. */
export const BEHIND_PROXY = { TRUST_PROXY: '1' }

/** A header that makes a request come from an address of its own, so that no limit by address counts it with others. */
export function fromAnotherAddress(): { readonly 'X-Forwarded-For': string } {
  const [a, b, c] = crypto.getRandomValues(new Uint8Array(3))
  return { 'X-Forwarded-For': `10.${a}.${b}.${c}` }
}
