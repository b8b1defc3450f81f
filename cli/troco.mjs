#!/usr/bin/env node
// Command line of the Troco API, for integrators: needs a URL and a token, but no database.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ApiError, connectApi, UsageError } from './api.mjs'
import { checkReceiver } from './check.mjs'
import { resendDeliveries, tailEvents } from './events.mjs'
import { forwardEvents, replayEvents } from './listen.mjs'
import { explainRequest, showRequest, tailRequests } from './requests.mjs'
import { endAs, triggerEvent } from './trigger.mjs'

const HELP = `troco: the Troco API on your command line

  troco listen --forward-to <url> [--secret <whsec_…>] [--types <type,…>] [--after <sequence>]
      Sends each event of test mode to a program on your machine, signed, as it happens; with
      --after first those that have happened since. Without --secret, a secret is derived from
      the token and printed: the same each time. In a terminal, r sends the last one again.

  troco replay <id or reference> --forward-to <url> [--secret <whsec_…>]
      Sends the events of one charge or withdrawal of test mode again.

  troco check-receiver <url of an endpoint>
  troco check-receiver --forward-to <url> [--secret <whsec_…>]
      Sends a receiver what it must take and what it must refuse, and says what to mend: samples
      only. The first lets Troco send to a saved endpoint of test mode, with its secret; the
      second sends from here, signed as those of listen.

  troco pay|expire|fail <id or reference>
      Ends a charge of test mode as its payer or bank would, and prints the event.

  troco trigger <type>
      Makes an event happen in test mode: transaction.paid, transaction.expired, transaction.failed,
      transaction.refunded, transaction.refund_failed, transaction.dispute_opened,
      transaction.dispute_closed, withdrawal.approved, withdrawal.rejected or withdrawal.returned.

  troco events tail [--follow] [--after <sequence>] [--types <type,…>]
      Prints the latest events, with --follow also those that come.

  troco events resend <id or reference>
      Lets Troco send the webhooks of one charge or withdrawal again, to where it sent them.

  troco requests tail [--follow] [--failed]
      Prints the latest requests to the API with tokens of the account, with --follow also those
      that come, with --failed only those with a status from 400.

  troco requests show <id>
      Prints one request, by its id or its X-Request-Id: what was sent and answered, without
      personal data, and the page that says what to do about a refusal.

  troco explain <id>
      Prints one request like that, why it was refused and what to do, and the events of what it
      created or changed.

Options of every command:
  --url <url>      address of the server, or TROCO_URL
  --token <token>  API token, or TROCO_TOKEN
  --json           prints one JSON object per line, for programs
  --help
  --version

The token needs events:read; pay, expire and fail also transactions:write, trigger also that,
refunds:write and withdrawals:write; requests tail and show only requests:read, explain both;
events resend, and check-receiver of an endpoint, only webhooks:write and webhooks:read.
`

const OPTIONS = {
  url: { type: 'string' },
  token: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  'forward-to': { type: 'string' },
  secret: { type: 'string' },
  types: { type: 'string' },
  after: { type: 'string' },
  failed: { type: 'boolean', default: false },
  follow: { type: 'boolean', short: 'f', default: false },
  version: { type: 'boolean', default: false },
}

const CHARGE = 'the id or reference of a charge'
const CHARGE_OR_WITHDRAWAL = 'the id or reference of a charge or withdrawal'

const COMMANDS = {
  listen: { run: forwardEvents, options: ['forward-to', 'secret', 'types', 'after'] },
  replay: { run: replayEvents, options: ['forward-to', 'secret'], takes: CHARGE_OR_WITHDRAWAL },
  'check-receiver': {
    run: checkReceiver,
    options: ['forward-to', 'secret'],
    mayTake: true,
  },
  explain: { run: explainRequest, options: [], takes: 'the id of a request' },
  'events resend': { run: resendDeliveries, options: [], takes: CHARGE_OR_WITHDRAWAL },
  trigger: { run: triggerEvent, options: [], takes: 'an event type' },
  pay: { run: endAs('paid', 'pay'), options: [], takes: CHARGE },
  expire: { run: endAs('expired', 'expire'), options: [], takes: CHARGE },
  fail: { run: endAs('failed', 'fail'), options: [], takes: CHARGE },
  'events tail': { run: tailEvents, options: ['types', 'after', 'follow'] },
  'requests tail': { run: tailRequests, options: ['failed', 'follow'] },
  'requests show': { run: showRequest, options: [], takes: 'the id of a request' },
}
/** Exit code after Ctrl-C: 130, as shells expect, or 0 for a command that only ends like this. */
let interruptedCode = 130
const GENERAL = ['url', 'token', 'json', 'help']

async function main(args) {
  const { values, positionals } = readArguments(args)
  const name = Object.keys(COMMANDS).find(
    one => positionals.slice(0, one.split(' ').length).join(' ') === one,
  )
  if (values.version) return void process.stdout.write(`${readVersion()}\n`)
  if (values.help || positionals.length === 0) return void process.stdout.write(HELP)
  const command = COMMANDS[name]
  if (!command) throw new UsageError(`Unknown command: ${positionals.join(' ')}`)
  const rest = positionals.slice(name.split(' ').length)
  // A filter without a value is none: an empty reference would name everything.
  if (command.takes && !(rest.length === 1 && rest[0].trim()))
    throw new UsageError(`troco ${name} needs ${command.takes}`)
  const isTooMuch = rest.length > (command.mayTake ? 1 : 0)
  if (!command.takes && isTooMuch) throw new UsageError(`troco ${name} takes no ${rest.at(-1)}`)
  for (const option of Object.keys(values)) {
    if (values[option] === false || GENERAL.includes(option)) continue
    if (!command.options.includes(option)) {
      throw new UsageError(`troco ${name} has no option --${option}`)
    }
  }
  if (name === 'listen' || values.follow) interruptedCode = 0
  await command.run(connectApi(values), values, rest[0])
}

function readVersion() {
  return JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')).version
}

function readArguments(args) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true })
  } catch (error) {
    throw new UsageError(error.message)
  }
}

process.on('SIGINT', () => process.exit(interruptedCode))
// A reader such as `head` that has seen enough closes the pipe.
process.stdout.on('error', error => process.exit(error.code === 'EPIPE' ? 0 : 1))

main(process.argv.slice(2)).catch(error => {
  if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\n\n${HELP}`)
    process.exitCode = 2
  } else if (error instanceof ApiError) {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  } else throw error
})
