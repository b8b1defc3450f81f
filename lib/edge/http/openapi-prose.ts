import { PERMISSIONS } from '#lib/rooms/tokens/schema.ts'

/** Introduction of the API reference, in Markdown; each heading becomes a section. */
export const INTRODUCTION = `
Create PIX charges, learn when they are paid, give money back, send it to a Pix key, and be told of
everything that happens. Requests and answers are JSON; all paths are relative to the server's
address.

## Authentication

Every request carries a token: \`Authorization: Bearer <token>\`. A token belongs to one account and
one mode and is shown once, when it is made. Make one for each integration, with only the
permissions that it needs, so that you can revoke it alone. Never put a token into a page, an app,
a public repository or a log.

The permissions are ${PERMISSIONS.map(name => `\`${name}\``).join(', ')}. Each operation names the
one that it needs, and a 403 names the one that was missing in \`X-Required-Permission\`.

## Test and live mode

Each account has two worlds, and nothing crosses between them: charges, withdrawals, balance, events
and tokens belong to one. The token decides: \`troco_test_…\` or \`troco_live_…\`. Test mode runs on a
simulated bank that comes with Troco and moves no money; live mode runs on the configured bank, and
its writes are answered with 403 where there is none.

In test mode you decide what happens, under \`/sandbox\` or by these addresses:

| Send | What happens |
|---|---|
| \`client_email\` that begins with \`fail@\` | The charge fails about a second after its \`pending\` answer. |
| \`client_email\` that begins with \`unavailable@\` | 503; nothing is written. |
| \`pix_key\` that begins with \`reject@\` | The withdrawal is rejected about a second later. |
| \`pix_key\` that begins with \`hold@\` | The withdrawal stays \`pending\` until you decide it. |
| \`pix_key\` that begins with \`unavailable@\` | 503; nothing is held. |

Any other withdrawal is approved after about a second. Any well-formed document or key is taken;
live mode also judges check digits.

## Money, times and ids

Money is a whole number of cents: \`1500\` is R$ 15,00. Times are ISO 8601 in UTC with microseconds:
\`2026-11-21T01:27:00.123456Z\`. Ids are UUIDs. Where you may give an \`external_id\` of your own, you
can also read by it.

## Requests

Send \`Content-Type: application/json\` and at most 64 KiB. Fields that are not known are ignored. An
optional field that is null or an empty string counts as absent; an amount is never read from text.
\`HEAD\` answers as \`GET\`, and a trailing slash makes no difference. Another method is answered with
405 and \`Allow\`, an address that does not exist with 404 and \`{"error":"Not found"}\`.

Every answer carries \`X-Request-Id\`: the one that you sent, if it has at most 64 characters from
\`A-Z a-z 0-9 . _ : -\`, else a new one. It finds the request in the log.

## Errors

An error is \`{"error": "…"}\`; the text is for people and a code for programs stands in
\`X-Error-Code\`. What is not valid is answered with 422, in one of two forms:

- \`POST /transactions\` says the first problem, which names its field:
  \`{"errors": "amount is required"}\`
- Everything else says all problems by their field:
  \`{"errors": {"amount": ["…"], "pix_key": ["…"]}}\`

After 429 and 503 wait as many seconds as \`Retry-After\` says, then send the same request again. A
500 is a fault of ours; the write may have happened, so repeat it only under an \`Idempotency-Key\`.

## Idempotency

Send an \`Idempotency-Key\` of 1 to 255 characters (a new UUID, say) with a POST, and you may repeat
it until it is answered: it acts once. The same key with the same body gets the first answer again,
with \`Idempotent-Replayed: true\`. While the first request still runs the second waits up to ten
seconds for it, and then gets 409. The same key with another body gets 422. Keys are kept for 24
hours for charges and 30 days for withdrawals and refunds, per account, mode and path. Refusals are
not kept: after one, the same key may succeed.

## Rate limits

Unless the operator has set others, a token may send 100 requests a second and an address 200, each
twice as many at once after a quiet while. \`RateLimit-Policy\` and \`RateLimit\` say what holds and
what is left, as in the IETF draft; beyond it comes 429 with \`Retry-After\`.

## Pages

Lists are newest first. \`limit\` says how many to answer; \`next_cursor\`, sent as \`cursor\`, gives the
next page, and is null on the last. Filters must stay the same from page to page.

## Webhooks

Give a charge or a withdrawal a \`webhook_url\` and it is told what becomes of it, with the same body
that \`GET /events\` lists. Answer with any 2xx within 15 seconds. Otherwise it is told again after 5
seconds, 5 minutes, 30 minutes, 2, 5 and 10 hours; redirects count as failures, 410 ends it, and a
\`Retry-After\` of up to an hour is kept to. An event can come more than once, so remember the
\`webhook-id\`; those of one charge or withdrawal come in order. If you cannot receive webhooks, read
\`GET /events\` from the last \`sequence\` that you know.

An endpoint of your account, set up in our pages, is told every event that you chose, whatever the
charge or withdrawal says: up to four times (at once, after 5 seconds, 5 and 30 minutes), with its own
secret. Of a charge its body also holds \`client\` (\`name\`, \`email\`, \`doc\`, \`phone\`), \`products\` (its
items, or an empty list) and \`utms\`. One that fails for 5 days and misses 10 events is switched off;
switched on again, it is told what it missed, oldest first.

A webhook goes to a public address only, at port 443, 80 or from 1024, and in live mode by https.

Signatures follow [Standard Webhooks](https://www.standardwebhooks.com), whose libraries check them:
\`webhook-signature\` holds \`v1,\` and the base64 of the HMAC-SHA256 of
\`{webhook-id}.{webhook-timestamp}.{body}\` under your secret: the bytes that follow \`whsec_\`, decoded
from base64. After a rotation there are two signatures, separated by a space, for 24 hours. Refuse a
timestamp that is more than five minutes off.

## Versions

This is version 1.0.0. Fields, events and optional parameters may be added; ignore those that you do
not know. Nothing that is described here changes its meaning.
`.trim()

export const TAGS = [
  {
    name: 'Charges',
    description:
      'A charge is a request to be paid, once, with a code that a payer copies or scans. It begins as `pending` and becomes `paid`, `expired` or `failed`. The word of the bank stands: a payment that arrives late still makes an expired or failed charge `paid`.',
  },
  {
    name: 'Refunds',
    description:
      'Gives a payer back what was paid, in whole or in parts, up to 90 days later. The amount is held at once; it has gone when the refund is `completed`, and is back in the balance when it is `rejected`.',
  },
  {
    name: 'Withdrawals',
    description:
      'Sends money from the balance to a Pix key. The amount is held at once; it has gone when the withdrawal is `approved`, and is back in the balance when it is `rejected`.',
  },
  { name: 'Account', description: 'Who the token belongs to, and what may be withdrawn.' },
  {
    name: 'Events',
    description: 'Everything that happened, in order: for those who fetch instead of being told.',
  },
  {
    name: 'Sandbox',
    description:
      'The simulated bank of test mode. Under a live token these addresses do not exist.',
  },
  {
    name: 'Webhooks',
    description:
      'Sent as a POST to the `webhook_url` of a charge or a withdrawal, signed, until it is taken: see Webhooks in the introduction.',
  },
]
