import { errorCodeTable } from '#lib/edge/http/openapi-refusals.ts'
import { PERMISSIONS } from '#lib/rooms/tokens/schema.ts'

/** Introduction of the API reference, in Markdown; each heading becomes a section. */
export const INTRODUCTION = `
Create Pix charges, receive notifications when they are paid, refund them, and withdraw the balance to a
Pix key. Requests and responses are JSON. All paths are relative to the server's URL.

## Authentication

Send \`Authorization: Bearer <token>\` with every request. A token belongs to one account and one mode
and is shown only when it is created. Create one token per integration, with only the permissions that
it needs, so that you can revoke it separately. Keep tokens out of pages, apps, public repositories and
logs.

The permissions are ${PERMISSIONS.map(name => `\`${name}\``).join(', ')}. Each operation states the
permission that it requires. If it is missing, the response is 403 and \`X-Required-Permission\` names it.
\`payers:read\` is different: no operation requires it. Without it, \`client_doc\` and \`owner_doc\` are masked in
responses, \`client_doc\` also in the events of charges that the token creates, and a search does not
match documents. Events contain \`owner_doc\` only masked.

## Test and live mode

Each account has two modes, \`test\` and \`live\`, with separate tokens, charges, withdrawals, balances
and events. The token determines the mode: \`troco_test_…\` or \`troco_live_…\`. Test mode uses a built-in
simulated bank and moves no money. Live mode uses the configured bank; without one, its writes respond
403.

In test mode, the operations under \`/sandbox\` decide the outcome of a charge or withdrawal. Some
addresses decide it in advance:

| Value | Effect |
|---|---|
| \`client_email\` beginning with \`fail@\` | The charge fails about a second after its \`pending\` response. |
| \`client_email\` beginning with \`unavailable@\` | 503; nothing is stored. |
| \`pix_key\` beginning with \`reject@\` | The withdrawal is rejected after about a second. |
| \`owner_doc\` with a \`pix_key\` that is another CPF or CNPJ, or begins with \`stranger@\` | The withdrawal is rejected: the key belongs to another person or company. |
| \`pix_key\` beginning with \`hold@\` | The withdrawal stays \`pending\` until you decide it. |
| \`pix_key\` beginning with \`unavailable@\` | 503; nothing is held. |

Any other withdrawal is approved after about a second. Test mode accepts any well-formed document and
Pix key; live mode also verifies check digits.

## Money, times and ids

Amounts are integers in cents: \`1500\` is R$ 15.00. Times are ISO 8601 in UTC with microseconds:
\`2026-11-21T01:27:00.123456Z\`. Ids are UUIDs. A charge or withdrawal can also be read by its
\`external_id\`, your own reference.

## Requests

Send \`Content-Type: application/json\` and at most 64 KiB. Unknown fields are ignored. In optional
fields, null and the empty string count as absent. An amount must be a JSON number, not a string.
Unknown, repeated and malformed query parameters respond 422, which names them; \`GET /account\`,
\`POST /transactions\`, \`GET /transactions/{id}\` and \`POST /withdrawals\` ignore them and name them in
\`X-Ignored-Parameters\`. \`HEAD\` responds like \`GET\`, and a trailing slash is ignored. An unsupported method responds 405 with
\`Allow\`; an unknown path responds 404 with \`{"error":"Not found"}\`.

Every response has an \`X-Request-Id\`: the one that you sent, if it has at most 64 characters from
\`A-Z a-z 0-9 . _ : -\`, otherwise a new one. It identifies the request in the server's log.

## Errors

The body of an error is \`{"error": "…"}\`, a text for people. The header \`X-Error-Code\` is for
programs. Invalid input responds 422 with one of two bodies:

- \`POST /transactions\` returns the first problem, which names its field:
  \`{"errors": "amount is required"}\`
- All other operations return the problems of all fields:
  \`{"errors": {"amount": ["…"], "pix_key": ["…"]}}\`

${errorCodeTable()}

After 429 or 503, wait for the number of seconds in \`Retry-After\` and repeat the request. A 500 is an
error of the server: the write may have taken effect, so repeat it only with an \`Idempotency-Key\`.

## Idempotency

Send an \`Idempotency-Key\` of 1 to 255 characters, such as a new UUID, with a POST, and repeat the
request with the same key until you get a response. The request takes effect once. A request with the
same key and body gets the first response, with \`Idempotent-Replayed: true\`. While the first request is
running, the second waits up to 10 seconds for its response, then gets 409. The same key with another
body gets 422. Keys are valid per account, mode and path: 24 hours for charges, 30 days for withdrawals
and refunds. Errors are not stored, so the same key can succeed after one.

## Rate limits

By default, a token can send 100 requests per second and a client address 200, and twice as many at once
after an idle time. \`RateLimit-Policy\` and \`RateLimit\` state the limits and what is left, as in the
IETF draft. Above them the response is 429 with \`Retry-After\`.

By default, 300 requests of a token and 600 of a client address can be in progress at the same time, each
until its response has been sent. A further one waits up to 2 seconds, then gets 429. A connection on
which the client reads nothing for 20 seconds, although data waits, is closed. A token receives up to 20 MB
per second, averaged over 10 seconds; above that a request waits up to 2 seconds, then gets 429. Lists of
an account that are read at the same time have about 1 MiB together; further ones wait up to 30 seconds for
their turn, then get 429.

## Pages

Lists are sorted newest first. \`limit\` is the maximum number of entries. Send \`next_cursor\` as
\`cursor\`, with the same filters, to read the next page; it is null on the last page. The entries of a
page have at most 1 MiB of JSON, so a page can have fewer than \`limit\` entries and still not be the
last: only \`next_cursor\` tells. The same limit applies to \`GET /events\`.

## Webhooks

If a charge or withdrawal has a \`webhook_url\`, Troco sends it the events \`paid\`, \`expired\`,
\`failed\`, \`approved\` and \`rejected\`, with the body that \`GET /events\` returns. Respond with any 2xx within 15 seconds. Otherwise Troco retries after 5 seconds,
5 minutes, 30 minutes, 2, 5 and 10 hours. Redirects count as failures, 410 stops the retries, and a
\`Retry-After\` of up to an hour is respected. An event can arrive more than once, so store the
\`webhook-id\` of processed events. Events of one charge or withdrawal arrive in order. If you cannot
receive webhooks, read \`GET /events\` after the last \`sequence\` that you processed.

An endpoint of the account, configured in the dashboard, receives all events of the types that you
choose, in up to four attempts (at once, after 5 seconds, 5 and 30 minutes), with its own secret. For
charges its body also contains \`client\` (\`name\`, \`email\`, \`doc\`, \`phone\`), \`products\` (the items, or
an empty list) and \`utms\`. An endpoint without a success for 5 days and with 10 failed deliveries is
disabled. When you enable it again, it can receive the events that it missed, oldest first.

Troco sends webhooks only to public addresses, on port 443, 80, or 1024 and above. Live mode requires
https.

Signatures follow [Standard Webhooks](https://www.standardwebhooks.com), whose libraries verify them:
\`webhook-signature\` is \`v1,\` and the base64 of the HMAC-SHA256 of
\`{webhook-id}.{webhook-timestamp}.{body}\`. The key is the part of the secret after \`whsec_\`, decoded
from base64. For 24 hours after a rotation there are two signatures, separated by a space. Refuse
timestamps that differ from your clock by more than five minutes.

## Versions

This is version 1.0.0. Fields, events and optional parameters may be added; ignore those that you do not
know. The meaning of what is described here does not change.
`.trim()

export const TAGS = [
  {
    name: 'Charges',
    description:
      'A charge requests one payment with a code that the payer copies or scans. It is created `pending` and becomes `paid`, `expired` or `failed`. If the bank reports a late payment, an expired or failed charge still becomes `paid`.',
  },
  {
    name: 'Refunds',
    description:
      'A refund returns a payment to the payer, in full or in parts, within 90 days. What the payer disputes cannot be refunded until the dispute ends. The amount is held at once. It leaves the account when the refund is `completed` and returns to the balance when it is `rejected`.',
  },
  {
    name: 'Withdrawals',
    description:
      'A withdrawal sends money from the balance to a Pix key. The amount is held at once. It leaves the account when the withdrawal is `approved` and returns to the balance when it is `rejected`.',
  },
  { name: 'Account', description: 'The account of the token and its available balance.' },
  {
    name: 'Events',
    description: 'All events in order, for programs that cannot receive webhooks.',
  },
  {
    name: 'Sandbox',
    description: 'The simulated bank of test mode. With a live token these paths respond 404.',
  },
  {
    name: 'Webhooks',
    description:
      'Signed POST requests to the `webhook_url` of a charge or withdrawal, retried until the receiver accepts them. See Webhooks in the introduction.',
  },
]
