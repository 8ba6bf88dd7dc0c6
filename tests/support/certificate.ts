import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Why no certificate can be created here, or false when one can. */
export const withoutOpenssl =
  spawnSync('openssl', ['version']).status === 0
    ? false
    : 'openssl, which makes the certificate, is not on this machine'

/** Creates a self-signed certificate for localhost and its key. Both are also files in the folder. */
export function selfSignedFor(folder: string): { readonly key: Buffer; readonly cert: Buffer } {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const request = [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    '-keyout',
    key,
    '-out',
    cert,
  ]
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  execFileSync('openssl', [...request, ...names], { stdio: 'ignore' })
  return { key: readFileSync(key), cert: readFileSync(cert) }
}
