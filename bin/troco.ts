import { setFlagsFromString } from 'node:v8'
import { BANK_KINDS } from '#lib/banks/states.ts'
import { isDatabaseUnavailable, isTrocoError } from '#lib/core/errors.ts'
import { EnvError } from '#lib/core/settings.ts'

type Command = (args: string[]) => Promise<void>

/** Commands are imported on use: `token create` must not load the web server. */
const COMMANDS: Record<string, () => Promise<Command>> = {
  start: async () => (await import('#bin/commands/start.ts')).start,
  dev: async () => (await import('#bin/commands/start.ts')).startDevelopment,
  demo: async () => (await import('#bin/commands/start.ts')).printDemo,
  worker: async () => (await import('#bin/commands/worker.ts')).runWorker,
  migrate: async () => (await import('#bin/commands/database.ts')).migrateDatabase,
  'upgrade --plan': async () => (await import('#bin/commands/database.ts')).printPlan,
  'database roles': async () => (await import('#bin/commands/database.ts')).setUpRoles,
  'secret replace': async () => (await import('#bin/commands/database.ts')).replaceSecret,
  backup: async () => (await import('#bin/commands/backup.ts')).backUp,
  restore: async () => (await import('#bin/commands/restore.ts')).restore,
  drill: async () => (await import('#bin/commands/backup.ts')).drill,
  doctor: async () => (await import('#bin/commands/doctor.ts')).checkInstallation,
  trace: async () => (await import('#bin/commands/trace.ts')).trace,
  'ledger verify': async () => (await import('#bin/commands/books.ts')).printLedgerChecks,
  'restore begin': async () => (await import('#bin/commands/restore.ts')).begin,
  'restore open': async () => (await import('#bin/commands/restore.ts')).open,
  'differences list': async () => (await import('#bin/commands/books.ts')).printOpenItems,
  'differences correct': async () => (await import('#bin/commands/books.ts')).correctBooks,
  reconcile: async () => (await import('#bin/commands/books.ts')).reconcile,
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
  'bank register-notices': async () => (await import('#bin/commands/bank.ts')).register,
  'bank rotate-notices': async () => (await import('#bin/commands/bank.ts')).rotate,
  'bank restrict-notices': async () => (await import('#bin/commands/bank.ts')).restrict,
  'bank assign': async () => (await import('#bin/commands/bank.ts')).assign,
  'bank trial': async () => (await import('#bin/commands/bank-trial.ts')).tryOut,
  'bank evidence': async () => (await import('#bin/commands/bank-evidence.ts')).printEvidence,
  'bank unassign': async () => (await import('#bin/commands/bank.ts')).unassign,
  'bank limit': async () => (await import('#bin/commands/bank.ts')).limit,
  'bank close': async () => (await import('#bin/commands/bank.ts')).close,
  'bank statement': async () => (await import('#bin/commands/bank-evidence.ts')).printStatement,
  'user create': async () => (await import('#bin/commands/account.ts')).createUser,
  'user reset': async () => (await import('#bin/commands/account.ts')).resetPassword,
  'user disconnect': async () => (await import('#bin/commands/account.ts')).disconnectOpenid,
  'token create': async () => (await import('#bin/commands/account.ts')).createToken,
  'token revoke': async () => (await import('#bin/commands/account.ts')).revoke,
  'order end': async () => (await import('#bin/commands/books.ts')).endOrder,
  'receipt-key list': async () => (await import('#bin/commands/database.ts')).listKeys,
  'receipt-key rotate': async () => (await import('#bin/commands/database.ts')).rotateKey,
  'receipt-key withdraw': async () => (await import('#bin/commands/database.ts')).withdrawKey,
  'webhook secret': async () => (await import('#bin/commands/account.ts')).printSecret,
}

const HELP = `Usage: npm run -s troco -- <command>

  start                                run the web server, the worker and, without DATABASE_URL, PostgreSQL
  demo                                 print the logins of the demo data
  worker                               run the worker only
  migrate                              apply pending database migrations
  upgrade --plan [--long]              print whether requests wait for pending migrations, and how long they
                                       take, or what each of them does
  database roles                       limit the application's database role; see
                                       docs/operate/security.md
  secret replace                       accept another TROCO_SECRET because the former one is lost: tokens,
                                       second factors and credentials from before stop working
  doctor                               check the installation
  backup [--to <folder>] [--type full|diff|incr]
                                       let pgBackRest copy the database: all of it, or what has changed since
                                       the last full or the last copy
  restore --to <time|latest> --into <folder> [--from <folder>]
                                       restore the database into a new data directory, to a time such as
                                       '2026-11-20 14:05', in the zone of this machine, or
                                       '2026-11-20 14:05-03:00'
  drill [--from <folder>]              restore the newest backup beside the running system, verify it, and
                                       remove it
  trace <id> [--json]                  print what a request did, or what happened to a charge, refund or
                                       withdrawal: rows, calls of banks, events and deliveries
  ledger verify [--account <e-mail|id>]
                                       verify the books
  restore begin --to <time>            after a restore of the database to this time, such as
                                       2026-11-20T14:05Z, before Troco starts: begin new event feeds, and
                                       send nothing to a bank until what it has sent since then is read
  restore open <name|id> --reason <text>
                                       send payouts and refunds again although the bank cannot be read, if
                                       there is only one admin
  differences list                     print what differs, open or acknowledged: time, kind, connection,
                                       facts, state and id
  differences correct <id> --from <bank|operator|account> --to <bank|operator|account> --amount <cents>
      --reason <text> --attachment <file>
                                       settle a difference with an entry, if there is only one admin
  reconcile --from <YYYY-MM-DD> [--to <YYYY-MM-DD>] [<name|id>]
                                       compare days of banks with the books, and print what differs; exit
                                       1 while an item is open
  account list                         print id, owner, state and name of each account, separated by tabs
  account create --name <name> --email <e-mail>
                                       open an account and print its id
  account activate <e-mail|id> --reason <text>
                                       activate an account
  account suspend <e-mail|id> --reason <text>
                                       suspend an account
  account write-off <e-mail|id> --reason <text> [--mode test|live] [--amount <cents>]
                                       give up what an account owes for lost disputes; print the amount
  bank list                            print id, kind, environment, state, number of accounts and name of
                                       each connection to a bank, separated by tabs
  bank add --name <name> --kind ${BANK_KINDS.join('|')} --environment homologation|production
           [--receiving-key <key>]… [--paying-key <key>] [--profile <name>]
           [--settings <file>] [--credentials <file|->]
                                       add a connection to a bank and print its id
  bank check <name|id>                 examine all that live mode needs of it, and print what to do
  bank correct-settings <name|id>      have the bank refuse payments of no charge, where it can, and print
                                       the settings that were changed
  bank renew <name|id> --credentials <file|->
                                       check new credentials, and replace the old ones if they pass
  bank register-notices <name|id> [--replace]
                                       register the address for notices at the bank
  bank rotate-notices <name|id>        change the address for notices, and register it
  bank restrict-notices <name|id> [--from <range|all>]… [--certificate required|optional]
                                       set from where, and with what proof, notices are accepted
  bank trial <name|id> [--key <pix key>]
                                       have a few cents paid, refunded, and withdrawn to a key of yours,
                                       and print each step; after Ctrl-C, repeat it to follow the same trial
  bank evidence <name|id>              print a checklist of what only a real account can show, filled in
                                       with the latest trial: its calls, statement lines and receipts
  bank assign <e-mail|id> [--receiving <name|id>] [--paying <name|id>]
                                       open live mode for an account
  bank unassign <e-mail|id> [--receiving] [--paying]
                                       close live mode for an account
  bank limit <name|id> [--per-payout <cents|none>] [--per-day <cents|none>]
                                       set limits of what is paid out through a connection, and print them
  bank close <name|id>                 remove a connection from all accounts for good, and print what is open
  bank statement <name|id> --day <YYYY-MM-DD> [--report <id>]
                                       print the movements of a day at the bank, and what its balances
                                       differ by; only of days before today
  order end <id> --as sent|not-sent --reason <text>
                                       end a withdrawal, refund or return that the bank never answers, if
                                       there is only one admin
  user create --email <e-mail> [--name <name>] [--admin]
                                       create a user and print the id
  user reset --email <e-mail>          print a link for a new password, valid for one hour
  user disconnect --email <e-mail>     disconnect the OpenID provider and end all sessions
  token create --account <e-mail|id> --name <name> [--mode test|live] [--permissions a,b]
      [--addresses a,b]                create an API token and print it; with addresses or CIDR ranges, it
                                       is refused from elsewhere
  token revoke <id|prefix> [--reason <text>]
                                       revoke an API token
  receipt-key list                     print id, state and time of each key of receipts, separated by tabs
  receipt-key rotate                   sign receipts with a new key, and print its id
  receipt-key withdraw <id> --reason <text>
                                       make all receipts of a key invalid
  webhook secret --account <e-mail|id> [--mode test|live]
                                       print the secret that signs webhooks of charges and withdrawals
`

/** Prints to standard output if requested; after an unknown command to standard error, exit 1. */
function showHelp(args: string[]): void {
  const isRequested = args.length === 0 || args[0] === 'help' || args[0] === '--help'
  if (isRequested) {
    process.stdout.write(HELP)
    return
  }
  process.stderr.write(`Unknown command: ${args.join(' ')}\n\n${HELP}`)
  process.exitCode = 1
}

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

/** After `| head` a command still does what it was asked to do; what it prints goes nowhere. */
process.stdout.on('error', error => {
  if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
})
/**
 * V8 would let the heap double or more before it collects garbage, if the machine has memory. At 60 %, a
 * process took 25 MB more than at 20 %, which cost 4 more collections in 20 s of work, of 30 ms each.
 */
setFlagsFromString('--heap-growing-percent=20')
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
