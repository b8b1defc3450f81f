import { setFlagsFromString } from 'node:v8'
import { showHelp } from '#bin/commands/help.ts'
import { isDatabaseUnavailable, isTrocoError } from '#lib/core/errors.ts'
import { EnvError } from '#lib/core/settings.ts'

type Command = (args: string[]) => Promise<void>

/** Commands are imported on use: `token create` must not load the web server. */
const COMMANDS: Record<string, () => Promise<Command>> = {
  start: async () => (await import('#bin/commands/start.ts')).start,
  dev: async () => (await import('#bin/commands/start.ts')).startDevelopment,
  worker: async () => (await import('#bin/commands/worker.ts')).runWorker,
  migrate: async () => (await import('#bin/commands/database.ts')).migrateDatabase,
  'upgrade --plan': async () => (await import('#bin/commands/upgrade.ts')).printPlan,
  'database roles': async () => (await import('#bin/commands/database.ts')).setUpRoles,
  'secret replace': async () => (await import('#bin/commands/database.ts')).replaceSecret,
  backup: async () => (await import('#bin/commands/backup.ts')).backUp,
  restore: async () => (await import('#bin/commands/restore-files.ts')).restoreFiles,
  drill: async () => (await import('#bin/commands/drill.ts')).drill,
  doctor: async () => (await import('#bin/commands/doctor.ts')).checkInstallation,
  trace: async () => (await import('#bin/commands/trace.ts')).trace,
  'ledger verify': async () => (await import('#bin/commands/ledger.ts')).printLedgerChecks,
  'restore begin': async () => (await import('#bin/commands/restore.ts')).begin,
  'restore open': async () => (await import('#bin/commands/restore.ts')).open,
  'differences list': async () => (await import('#bin/commands/differences.ts')).printOpenItems,
  reconcile: async () => (await import('#bin/commands/reconcile.ts')).reconcile,
  'account list': async () => (await import('#bin/commands/account.ts')).printAccounts,
  'account create': async () => (await import('#bin/commands/account.ts')).create,
  'account activate': async () => (await import('#bin/commands/account.ts')).activate,
  'account suspend': async () => (await import('#bin/commands/account.ts')).suspend,
  'account write-off': async () => (await import('#bin/commands/account.ts')).writeOff,
  'bank list': async () => (await import('#bin/commands/bank.ts')).list,
  'bank add': async () => (await import('#bin/commands/bank.ts')).add,
  'bank check': async () => (await import('#bin/commands/bank.ts')).check,
  'bank correct-settings': async () => (await import('#bin/commands/bank.ts')).correct,
  'bank renew': async () => (await import('#bin/commands/bank.ts')).renew,
  'bank register-notices': async () => (await import('#bin/commands/bank-notices.ts')).register,
  'bank rotate-notices': async () => (await import('#bin/commands/bank-notices.ts')).rotate,
  'bank restrict-notices': async () => (await import('#bin/commands/bank-notices.ts')).restrict,
  'bank assign': async () => (await import('#bin/commands/bank-accounts.ts')).assign,
  'bank trial': async () => (await import('#bin/commands/bank-trial.ts')).tryOut,
  'bank evidence': async () => (await import('#bin/commands/bank-evidence.ts')).printEvidence,
  'bank unassign': async () => (await import('#bin/commands/bank-accounts.ts')).unassign,
  'bank limit': async () => (await import('#bin/commands/bank.ts')).limit,
  'bank close': async () => (await import('#bin/commands/bank.ts')).close,
  'bank statement': async () => (await import('#bin/commands/bank-statement.ts')).printStatement,
  'user create': async () => (await import('#bin/commands/user.ts')).create,
  'user reset': async () => (await import('#bin/commands/user.ts')).reset,
  'user disconnect': async () => (await import('#bin/commands/user.ts')).disconnect,
  'token create': async () => (await import('#bin/commands/token.ts')).create,
  'token revoke': async () => (await import('#bin/commands/token.ts')).revoke,
  'order end': async () => (await import('#bin/commands/order.ts')).end,
  'receipt-key list': async () => (await import('#bin/commands/receipt-key.ts')).list,
  'receipt-key rotate': async () => (await import('#bin/commands/receipt-key.ts')).rotate,
  'receipt-key withdraw': async () => (await import('#bin/commands/receipt-key.ts')).withdraw,
  'webhook secret': async () => (await import('#bin/commands/webhook.ts')).showSecret,
}

/** V8 would let the heap double or more before it collects garbage, if the machine has memory. */
setFlagsFromString('--heap-growing-percent=60')
const args = process.argv.slice(2)
const name = [args.slice(0, 2).join(' '), args[0] ?? ''].find(key => Object.hasOwn(COMMANDS, key))
const load = name === undefined ? undefined : COMMANDS[name]

try {
  if (name === undefined || load === undefined) {
    showHelp(args)
  } else {
    const run = await load()
    await run(args.slice(name.split(' ').length))
  }
} catch (error) {
  process.stderr.write(`${formatError(error)}\n`)
  process.exitCode = 1
}
// The IPC channel to the bootstrap would keep a finished command running.
if (process.connected) process.disconnect()

function formatError(error: unknown): string {
  if (isTrocoError(error)) {
    const fields = Object.values(error.fields ?? {}).flat()
    return fields.length > 0 ? fields.join('; ') : error.message
  }
  if (isDatabaseUnavailable(error))
    return 'The database did not respond: see what the command has done before you repeat it'
  if (error instanceof EnvError) return error.message
  const { code } = error as NodeJS.ErrnoException
  if (code?.startsWith('ERR_PARSE_ARGS'))
    return `${(error as Error).message}. See \`npm run -s troco -- help\``
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
