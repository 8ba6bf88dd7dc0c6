import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A part of a request, and the places of the code that belong to it. */
const PARTS: readonly (readonly [name: string, isOf: (place: string) => boolean])[] = [
  [
    'system calls: reading, writing, waiting for sockets',
    (place) => /^(writev|write|read|\(program\)) /.test(place),
  ],
  ['garbage collection', (place) => place.startsWith('(garbage collector)')],
  ['SHA-256 and checksum', (place) => /crypto\/hash|^(hash|crc32) |token-secrets/.test(place)],
  ['router', (place) => place.includes('find-my-way') || place.includes('http/router')],
  ['cache and its lease', (place) => /node-cache|adapters\/caching|announcing|system-clock/.test(place)],
  ['use cases', (place) => /dist\/(application|domain)\//.test(place)],
  ['HTTP adapter: checks, exchange, dispatch, response', (place) => place.includes('dist/adapters/http')],
  ['request ids', (place) => place.includes('crypto/random')],
  ['node:http, streams, sockets, events', (place) => place.includes('node:')],
]

/** Shares of the time that a profile of node's (`--cpu-prof`) was busy, by part. */
export function sharesOf(folder: string): ReadonlyMap<string, number> {
  const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile
  const places = new Map(
    nodes.map(({ id, callFrame: { functionName, url } }) => [id, `${functionName} ${url}`]),
  )
  const times = new Map<string, number>()
  let busy = 0
  samples.forEach((id, at) => {
    const place = places.get(id) ?? ''
    if (place.startsWith('(idle)')) return
    const part = PARTS.find(([, isOf]) => isOf(place))?.[0] ?? 'the rest'
    const took = timeDeltas[at] ?? 0
    // A machine that stood still for a moment says nothing of the code that ran then.
    if (took > STALL_US) return
    busy += took
    times.set(part, (times.get(part) ?? 0) + took)
  })
  return new Map([...times].map(([part, took]) => [part, took / busy] as const).sort(([, a], [, b]) => b - a))
}

const STALL_US = 20_000

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}
