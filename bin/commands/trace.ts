import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import { refuse } from '#lib/core/errors.ts'
import type { Trace, TraceStep } from '#lib/dashboard/schema.ts'
import { findTraces } from '#lib/dashboard/trace.ts'

/** Prints what happened because of a request, or to a charge or withdrawal. */
export async function trace(args: string[]): Promise<void> {
  const options = { json: { type: 'boolean' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const id = requireOption(positionals[0], '<id>')
  await withRuntime(async () => {
    const traces = await findTraces(id)
    if (traces.length === 0) throw refuse('invalid_input', { message: NOTHING })
    const text = values.json
      ? JSON.stringify(traces, null, 2)
      : traces.map(formatTrace).join('\n\n')
    process.stdout.write(`${text}\n`)
  })
}

const NOTHING =
  'Nothing is known of this id: it must be that of a request of the last 7 days, a charge, a refund or a withdrawal'

/** A pause of this length is a line of its own. */
const WAIT_MIN_MS = 1_000

/** Prints a line per step, and one per wait between them that says what for. */
export function formatTrace({ account_id, mode, subject, steps }: Trace): string {
  const title = subject ? `${subject.kind} ${subject.id}` : 'request'
  const begin = Date.parse(steps[0]?.at ?? '')
  const lines = steps.flatMap((step, index) => [
    ...formatWait(steps.slice(0, index), step, begin),
    formatStep(step, begin),
  ])
  const widths = [0, 1, 2, 3, 4].map(column =>
    Math.max(...lines.map(cells => cells[column]?.length ?? 0)),
  )
  const table = lines.map(cells =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return [`${title}, account ${account_id}, ${mode} mode`, ...table].join('\n')
}

function formatStep(step: TraceStep, begin: number): string[] {
  const { at, what, name, id, outcome, duration_ms, request_id } = step
  const offset = `+${((Date.parse(at) - begin) / 1_000).toFixed(3)} s`
  const isRow = what === 'charge' || what === 'withdrawal' || what === 'refund'
  return [
    new Date(at).toISOString(),
    offset.padStart(12),
    what.replace('_', ' '),
    [name, isRow || what === 'event' ? id : '', outcome].filter(Boolean).join(' '),
    duration_ms === null ? '' : `${duration_ms} ms`,
    request_id === null ? '' : `request ${request_id}`,
  ]
}

function formatWait(before: TraceStep[], next: TraceStep, begin: number): string[][] {
  const from = Math.max(...before.map(({ at, duration_ms }) => Date.parse(at) + (duration_ms ?? 0)))
  const waitedMs = Date.parse(next.at) - from
  const reason = waitedMs >= WAIT_MIN_MS ? findReason(before, next) : null
  if (reason === null) return []
  const offset = `+${((from - begin) / 1_000).toFixed(3)} s`
  const duration = `${Math.round(waitedMs)} ms`
  return [[new Date(from).toISOString(), offset.padStart(12), 'wait', reason, duration, '']]
}

/** Says what a step had to wait for; null if it came on nobody's account, as a request. */
function findReason(before: TraceStep[], { what, name, id }: TraceStep): string | null {
  const isWithdrawal = before.some(step => step.what === 'withdrawal')
  if (what === 'request') return /\/(approve|decline)$/.test(name ?? '') ? 'for an approval' : null
  if (what === 'bank_call') {
    const last = before.findLast(step => step.what === 'bank_call')
    if (last) return `for the bank, after ${last.outcome ?? 'a call without an outcome'}`
    return 'to be sent: a slot among payouts, money at the bank, or a bank that rests'
  }
  if (what === 'event') return isWithdrawal ? "for the bank's result" : 'for the payer or the bank'
  if (what !== 'attempt') return null
  const last = before.findLast(step => step.what === 'attempt' && step.id === id)
  return last ? `for the next attempt, after ${last.outcome}` : 'to be delivered'
}
