import type { Command } from 'commander'
import type { CheckResult } from '../../lib/check-result.ts'
import { type Io, write } from './io.ts'
import type { Diagnosis, Operations } from './operations.ts'
import { printable } from './printable.ts'
import { Refusal } from './refusal.ts'
import { createTable } from './table.ts'

/** Adds the command `doctor`. */
export function addDoctorCommand(program: Command, operations: Operations, io: Io): void {
  program
    .command('doctor')
    .option('--json', 'print one JSON document')
    .description('check settings, files, hashing and database; change nothing')
    .action(async ({ json }: { readonly json?: boolean }) => {
      const diagnosis = await operations.diagnose()
      const text = json ? toJson(diagnosis, operations.version) : diagnosisReport(diagnosis)
      await write(io.stdout, text)
      const failures = diagnosis.findings.filter(({ state }) => state === 'failure').length
      if (failures > 0) throw new Refusal(failures === 1 ? 'One check failed.' : `${failures} checks failed.`)
    })
}

/** The document's keys are a stable interface and are never renamed. */
function toJson({ settings, findings }: Diagnosis, version: string): string {
  const ok = findings.every(({ state }) => state !== 'failure')
  const checks = findings.map(({ facts = {}, ...finding }) => ({ ...finding, facts }))
  return `${JSON.stringify({ ok, version, settings, checks }, null, 2)}\n`
}

function diagnosisReport({ settings, findings }: Diagnosis): string {
  const table = createTable(['SETTING', 'VALUE', 'FROM'])
  const rows = settings.map(({ name, value, source, variable }) => [
    name,
    printable(value ?? '-'),
    source === 'default' || variable === name ? source : `${source}, ${variable}`,
  ])
  return `${table(rows)}\n${findings.map(toLine).join('')}`
}

function toLine({ state, name, message, hint }: CheckResult): string {
  const line = `${state.padEnd(7)}  ${name}: ${printable(message)}\n`
  return hint === null ? line : `${line}         ${printable(hint)}\n`
}
