import { Gauge, type Registry } from 'prom-client'
import { metricOptions } from './definitions.ts'
import type { ReadinessGauge, Watched } from './gauges.ts'

/** Registers the gauges of readiness and of free space. Each reading runs the checks of readiness. */
export function registerConditions(registry: Registry, watched: () => Watched): void {
  let reading: Promise<ReadinessGauge> | undefined
  new Gauge({
    ...metricOptions('latchkey_ready'),
    registers: [registry],
    async collect() {
      reading = watched().readiness?.()
      const readiness = await reading
      if (readiness !== undefined) this.set(Number(readiness.ready))
    },
  })
  new Gauge({
    ...metricOptions('latchkey_readiness_check'),
    registers: [registry],
    async collect() {
      // The gauge above was asked first.
      const { passed } = (await reading) ?? {}
      this.reset()
      for (const [check, holds] of Object.entries(passed ?? {})) this.set({ check }, Number(holds))
    },
  })
  registerDisks(registry, watched)
}

function registerDisks(registry: Registry, watched: () => Watched): void {
  for (const [name, column] of [
    ['latchkey_disk_free_bytes', 'freeBytes'],
    ['latchkey_disk_size_bytes', 'sizeBytes'],
  ] as const)
    new Gauge({
      ...metricOptions(name),
      registers: [registry],
      async collect() {
        this.reset()
        for (const disk of (await watched().disks?.()) ?? []) this.set({ folder: disk.folder }, disk[column])
      },
    })
}
