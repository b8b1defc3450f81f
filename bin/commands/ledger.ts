import { parseArgs } from 'node:util'
import { withRuntime } from '#bin/command-line.ts'
import { findAccount } from '#lib/accounts/queries.ts'
import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { connect } from '#lib/db/client.ts'
import { verifyLedger } from '#lib/ledger/verify.ts'

/** Prints each check with its first wrong row. Exit code 1 if any check fails. */
export async function printLedgerChecks(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { account: { type: 'string' } } })
  await withRuntime(async () => {
    const account = values.account ? await findLedger(values.account) : null
    const database = connect({ poolMax: 2 })
    try {
      const { transfers, entries, ledgers, findings } = await verifyLedger(database, account?.id)
      const ownerText = account ? ` of ${account.name}` : ''
      process.stdout.write(
        `${transfers} transfers, ${entries} entries, ${ledgers} balances${ownerText}\n`,
      )
      for (const { invariant, violation } of findings) {
        process.stdout.write(
          `${violation ? 'BROKEN' : 'holds '}  ${invariant}${violation ? `: ${violation}` : ''}\n`,
        )
      }
      if (findings.some(finding => finding.violation)) process.exitCode = 1
    } finally {
      await database.$disconnect()
    }
  })
}

async function findLedger(emailOrId: string): Promise<{ id: string; name: string }> {
  return emailOrId === OPERATOR_ACCOUNT_ID
    ? { id: OPERATOR_ACCOUNT_ID, name: 'the operator' }
    : findAccount(emailOrId)
}
