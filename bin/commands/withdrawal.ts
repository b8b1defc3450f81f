import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import { findAccount } from '#lib/accounts/queries.ts'
import { refuse } from '#lib/core/errors.ts'
import { endAlone } from '#lib/withdrawals/end.ts'
import { END_OUTCOMES, type EndOutcome } from '#lib/withdrawals/states.ts'

/** For an installation with a single admin: two admins end a withdrawal on the page of its account. */
export async function end(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      account: { type: 'string' },
      as: { type: 'string' },
      reason: { type: 'string' },
    },
  })
  const id = requireOption(positionals[0], '<id>')
  const accountRef = requireOption(values.account, '--account')
  const outcome = readOutcome(requireOption(values.as, '--as'))
  const reason = requireOption(values.reason, '--reason')
  await withRuntime(async () => {
    const { id: accountId } = await findAccount(accountRef)
    await endAlone({ accountId, id, outcome, reason })
    process.stdout.write(`${id}\n`)
  })
}

function readOutcome(text: string): EndOutcome {
  const outcome = END_OUTCOMES.find(known => known.replace('_', '-') === text)
  if (outcome) return outcome
  throw refuse('invalid_input', { message: '--as must be sent or not-sent' })
}
