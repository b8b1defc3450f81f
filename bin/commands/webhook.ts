import { parseArgs } from 'node:util'
import { readMode, requireOption, withRuntime } from '#bin/command-line.ts'
import { findAccount } from '#lib/accounts/queries.ts'
import { recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { transaction } from '#lib/db/client.ts'
import { readResourceSecret } from '#lib/webhooks/secrets.ts'

export async function showSecret(args: string[]): Promise<void> {
  const options = { account: { type: 'string' }, mode: { type: 'string' } } as const
  const { values } = parseArgs({ args, options })
  const accountRef = requireOption(values.account, '--account')
  const mode = readMode(values.mode)
  await withRuntime(async () => {
    const account = await findAccount(accountRef)
    const secret = await readResourceSecret(account.id, mode)
    if (!secret) throw refuse('not_found', `${account.name} has no webhook secret in ${mode} mode`)
    await transaction(tx =>
      recordAudit(tx, {
        actor: { type: 'command_line' },
        action: 'webhook_secret.shown',
        accountId: account.id,
        target: account.id,
        after: { mode },
      }),
    )
    process.stdout.write(`${secret}\n`)
  })
}
