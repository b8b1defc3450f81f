/** Introduction of the document. The guides of the documentation have the rest. */
export function introduction(server: string): string {
  const docs = new URL('/docs/en', server).href
  return [
    'Create Pix charges, receive signed webhooks when they are paid, refund them, and withdraw the balance to a Pix key. Requests and responses are JSON. Amounts are integers in cents, times are ISO 8601 in UTC.',
    `Guides: [first charge](${docs}/first-charge), [webhooks](${docs}/webhooks), [testing](${docs}/testing), [errors and retries](${docs}/errors-and-retries), [reconciling](${docs}/reconciling), [going live](${docs}/going-live). Error codes with cause and remedy: ${docs}/errors.`,
    'Integers are at most 2^53 − 1, which JavaScript stores exactly. Their `format: int64` is for languages whose integers have 32 bits: if your generator makes a `bigint` of it, set it to use numbers, as the JSON has.',
    'This is version 1.0.0 of the API. Fields, events and optional parameters may be added; ignore those that you do not know. The meaning of what is described here does not change.',
  ].join('\n\n')
}

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
    name: 'Disputes',
    description:
      'A payer can dispute a payment at the bank. The disputed amount is held until the dispute is `won` or `lost`. Your administrator answers it.',
  },
  {
    name: 'Withdrawals',
    description:
      'A withdrawal sends money from the balance to a Pix key. The amount is held at once. It leaves the account when the withdrawal is `approved` and returns to the balance when it is `rejected`.',
  },
  {
    name: 'Account',
    description: 'The account of the token, its available balance and statement.',
  },
  {
    name: 'Events',
    description: 'All events in order, for programs that cannot receive webhooks.',
  },
  {
    name: 'Endpoints',
    description:
      'An endpoint receives events of the account, of the types chosen for it, as signed webhooks. Each has a secret of its own, which is shown when it is created or rotated and never again.',
  },
  {
    name: 'Deliveries',
    description:
      'A delivery sends one event to one URL: to an endpoint, or to the `webhook_url` of a charge or withdrawal. It keeps each attempt with its request and response.',
  },
  {
    name: 'Tokens',
    description:
      'A token with `tokens:write` issues tokens with at most its own permissions, in its own mode, which end with it.',
  },
  {
    name: 'Requests',
    description: 'The log of the requests that your tokens sent, to find what went wrong.',
  },
  {
    name: 'Sandbox',
    description: 'The simulated bank of test mode. With a live token these paths respond 404.',
  },
  {
    name: 'Webhooks',
    description:
      'Signed POST requests to the `webhook_url` of a charge or withdrawal, retried until the receiver accepts them. See the guide to webhooks.',
  },
]
