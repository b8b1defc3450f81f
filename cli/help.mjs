export const HELP = `troco: the Troco API on your command line

  troco listen --forward-to <url> [--secret <whsec_…>] [--types <type,…>]
      Sends each event of test mode to a program on your machine, signed, as it happens.
      Without --secret, a secret is derived from the token and printed: the same each time.

  troco trigger <type>
      Makes an event happen in test mode: transaction.paid, transaction.expired, transaction.failed,
      transaction.refunded, transaction.refund_failed, transaction.dispute_opened,
      transaction.dispute_closed, withdrawal.approved, withdrawal.rejected or withdrawal.returned.

  troco events tail [--follow] [--after <sequence>] [--types <type,…>]
      Prints the latest events, with --follow also those that come.

  troco requests tail [--follow] [--failed]
      Prints the latest requests to the API with tokens of the account, with --follow also those
      that come, with --failed only those with a status from 400.

Options of every command:
  --url <url>      address of the server, or TROCO_URL
  --token <token>  API token, or TROCO_TOKEN
  --json           prints one JSON object per line, for programs
  --help

The token needs events:read; trigger also transactions:write, refunds:write and withdrawals:write;
requests tail only requests:read.
`
