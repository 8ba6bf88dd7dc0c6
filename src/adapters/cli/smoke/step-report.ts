import { type Io, write } from '../io.ts'
import { toJsonDocument } from '../json.ts'
import { lineWidth, wrapText } from '../line-width.ts'
import { Refusal } from '../refusal.ts'

/** Reports the steps of a test on running instances: one line a step, or one JSON document for all. */
export interface StepReport {
  /** Runs a step, which returns its detail. When it throws, the report ends, and a `Refusal` names the step. */
  step(name: string, work: () => Promise<string>): Promise<void>
  /** Ends the report after the last step. */
  end(): Promise<void>
}

/** Creates a report on the standard output. */
export function createStepReport(io: Io, json: boolean): StepReport {
  const steps: object[] = []
  return { step, end: () => reportSteps(true) }

  async function step(name: string, work: () => Promise<string>): Promise<void> {
    const beganMs = performance.now()
    try {
      const detail = await work()
      const tookMs = Math.round(performance.now() - beganMs)
      steps.push({ name, ok: true, took_ms: tookMs, detail })
      if (!json) await write(io.stdout, formatStep({ name, tookMs, detail }, lineWidth(io.stdout)))
    } catch (error) {
      steps.push({ name, ok: false, detail: (error as Error).message })
      await reportSteps(false)
      throw error instanceof Refusal ? new Refusal(`${name}: ${error.message}`) : error
    }
  }

  async function reportSteps(ok: boolean): Promise<void> {
    if (json) await write(io.stdout, toJsonDocument({ ok, steps }))
  }
}

/** The time stands in words, so that it is not read as a status. */
function formatStep(
  { name, tookMs, detail }: { readonly name: string; readonly tookMs: number; readonly detail: string },
  maxWidth: number,
): string {
  return wrapText(`ok  ${name.padEnd(7)}  `, `in ${tookMs} ms${detail === '' ? '' : `: ${detail}`}`, maxWidth)
}
