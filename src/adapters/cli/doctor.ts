import type { Command } from 'commander'
import type { CheckResult } from '../../lib/check-result.ts'
import { type Io, write } from './io.ts'
import { type JsonFlag, toJsonDocument } from './json.ts'
import { lineWidth, wrapText } from './line-width.ts'
import type { Diagnosis, Operations } from './operations.ts'
import { jsonOption } from './options.ts'
import { printable } from './printable.ts'
import { Refusal } from './refusal.ts'
import { createTable } from './table.ts'

interface DoctorFlags extends JsonFlag {
  readonly all?: boolean
}

const STATES = ['failure', 'warning', 'ok'] as const

/** Adds the command `doctor`. */
export function addDoctorCommand(program: Command, operations: Operations, io: Io): void {
  program
    .command('doctor')
    .option('--all', 'also list the settings that have their default')
    .addOption(jsonOption())
    .description('check settings, files, hashing and database; change nothing')
    .action(async ({ json = false, all = false }: DoctorFlags) => {
      const diagnosis = await operations.diagnose()
      const text = json
        ? toJson(diagnosis, operations.version)
        : diagnosisReport(diagnosis, all, lineWidth(io.stdout))
      await write(io.stdout, text)
      const failures = count(diagnosis, 'failure')
      if (failures > 0) throw new Refusal(failures === 1 ? 'One check failed.' : `${failures} checks failed.`)
    })
}

/** The document's keys are a stable interface and are never renamed. */
function toJson({ settings, findings }: Diagnosis, version: string): string {
  const ok = findings.every(({ state }) => state !== 'failure')
  const checks = findings.map(({ facts = {}, ...finding }) => ({ ...finding, facts }))
  return toJsonDocument({ ok, version, settings, checks })
}

/** The findings, the worst first, then the settings, then a summary: the end is what a terminal still shows. */
function diagnosisReport(diagnosis: Diagnosis, all: boolean, maxWidth: number): string {
  const { settings, findings } = diagnosis
  const lines = STATES.flatMap((state) => findings.filter((finding) => finding.state === state)).map(
    (finding) => formatFinding(finding, maxWidth),
  )
  const shown = settings.filter(({ source }) => all || source !== 'default')
  const summary = formatSummary(diagnosis, settings.length - shown.length)
  return [lines.join(''), formatSettings(shown, maxWidth), wrapText('Checks: ', summary, maxWidth)]
    .filter(Boolean)
    .join('\n')
}

function formatSettings(settings: Diagnosis['settings'], maxWidth: number): string {
  if (settings.length === 0) return ''
  const rows = settings.map(({ name, value, source, variable }) => [
    name,
    printable(value ?? '-'),
    source === 'default' || variable === name ? source : `${source}, ${variable}`,
  ])
  return createTable(['SETTING', 'VALUE', 'FROM'], maxWidth)(rows)
}

function formatSummary(diagnosis: Diagnosis, hidden: number): string {
  const states = STATES.map((state) => `${count(diagnosis, state)} ${state}`).join(', ')
  const subject = hidden === 1 ? '1 setting has its' : `${hidden} settings have their`
  const rest = hidden === 0 ? '' : ` ${subject} default; --all lists all.`
  return `${states}.${rest}`
}

function count({ findings }: Diagnosis, state: CheckResult['state']): number {
  return findings.filter((finding) => finding.state === state).length
}

function formatFinding({ state, name, message, hint }: CheckResult, maxWidth: number): string {
  const prefix = `${state.padEnd(7)}  `
  const lines = wrapText(prefix, `${name}: ${printable(message)}`, maxWidth)
  return hint === null ? lines : lines + wrapText(' '.repeat(prefix.length), printable(hint), maxWidth)
}
