import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import { refuse } from '#lib/base/errors.ts'
import { findStories } from '#lib/views/admin/trace.ts'
import type { Story, StoryStep } from '#lib/views/dashboard/story/schema.ts'

/** Prints what happened because of a request, or to a charge or withdrawal. */
export async function trace(args: string[]): Promise<void> {
  const options = { json: { type: 'boolean' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const id = requireOption(positionals[0], '<id>')
  await withRuntime(async () => {
    const stories = await findStories(id)
    if (stories.length === 0) throw refuse('invalid_input', { message: NOTHING })
    const text = values.json ? JSON.stringify(stories, null, 2) : stories.map(format).join('\n\n')
    process.stdout.write(`${text}\n`)
  })
}

const NOTHING =
  'Nothing is known of this id: it must be that of a request of the last 7 days, a charge, a refund or a withdrawal'

function format({ account_id, mode, subject, steps }: Story): string {
  const title = subject ? `${subject.kind} ${subject.id}` : 'request'
  const begin = Date.parse(steps[0]?.at ?? '')
  const lines = steps.map(step => formatStep(step, begin))
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

function formatStep(step: StoryStep, begin: number): string[] {
  const { at, what, name, id, outcome, duration_ms, request_id } = step
  const offset = `+${((Date.parse(at) - begin) / 1_000).toFixed(3)} s`
  const isRow = what === 'charge' || what === 'withdrawal' || what === 'refund'
  return [
    ...[new Date(at).toISOString(), offset.padStart(12), what.replace('_', ' ')],
    [name, isRow || what === 'event' ? id : '', outcome].filter(Boolean).join(' '),
    duration_ms === null ? '' : `${duration_ms} ms`,
    request_id === null ? '' : `request ${request_id}`,
  ]
}
