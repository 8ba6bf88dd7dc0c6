import assert from 'node:assert/strict'

/** Asserts that a server returns the profile of the token's customer, so that no figure comes from wrong responses. */
export async function assertUsable(url: string, secret: string): Promise<unknown> {
  const response = await fetch(`${url}/api/me`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${secret}` },
  })
  const body = (await response.json()) as { readonly success?: unknown; readonly customer?: unknown }
  assert.ok(response.status === 200 && body.success === true && body.customer, JSON.stringify(body))
  return body
}
