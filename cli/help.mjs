export const HELP = `troco: the Troco API on your command line

  troco listen --forward-to <url> [--secret <whsec_…>] [--types <type,…>] [--after <sequence>]
      Sends each event of test mode to a program on your machine, signed, as it happens; with
      --after first those that have happened since. Without --secret, a secret is derived from
      the token and printed: the same each time.

  troco replay <id or reference> --forward-to <url> [--secret <whsec_…>]
      Sends the events of one charge or withdrawal of test mode again.

  troco check-receiver --forward-to <url> [--secret <whsec_…>]
      Sends your receiver what it must take and what it must refuse, and says what to mend:
      samples only, signed as those of listen.

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
events resend only webhooks:write and webhooks:read; check-receiver none.
`
