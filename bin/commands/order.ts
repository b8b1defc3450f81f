import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import { refuse } from '#lib/core/errors.ts'
import { endAlone } from '#lib/orders/end.ts'
import { END_OUTCOMES, type EndOutcome } from '#lib/orders/states.ts'
import { ORDER_RULES } from '#lib/worker/worker.ts'

/** For an installation with a single admin: two admins end an order on the page of its account or difference. */
export async function end(args: string[]): Promise<void> {
  const options = { as: { type: 'string' }, reason: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options })
  const id = requireOption(positionals[0], '<id>')
  const outcome = readOutcome(requireOption(values.as, '--as'))
  const reason = requireOption(values.reason, '--reason')
  await withRuntime(async () => {
    await endAlone({ id, outcome, reason }, ORDER_RULES)
    process.stdout.write(`${id}\n`)
  })
}

function readOutcome(text: string): EndOutcome {
  const outcome = END_OUTCOMES.find(known => known.replace('_', '-') === text)
  if (outcome) return outcome
  throw refuse('invalid_input', { message: '--as must be sent or not-sent' })
}
