const NOUNS: Record<string, { tag: string; singular: string }> = {
  account: { tag: 'Account', singular: 'Account' },
  transactions: { tag: 'Charges', singular: 'Charge' },
  refunds: { tag: 'Refunds', singular: 'Refund' },
  disputes: { tag: 'Disputes', singular: 'Dispute' },
  withdrawals: { tag: 'Withdrawals', singular: 'Withdrawal' },
  events: { tag: 'Events', singular: 'Event' },
  requests: { tag: 'Requests', singular: 'Request' },
  statement: { tag: 'Account', singular: 'Statement' },
  'statement.csv': { tag: 'Account', singular: 'Statement' },
  history: { tag: 'Account', singular: 'Balance' },
  endpoints: { tag: 'Endpoints', singular: 'Endpoint' },
  tokens: { tag: 'Tokens', singular: 'Token' },
  deliveries: { tag: 'Deliveries', singular: 'Delivery' },
}

export function pathOf(segments: string[]): string {
  return `/${segments.map(part => (isParameter(part) ? `{${part.slice(1, -1)}}` : part)).join('/')}`
}

export function isParameter(part: string): boolean {
  return part.startsWith('[')
}

export function tagOf(segments: string[]): string {
  return segments[0] === 'sandbox' ? 'Sandbox' : nounOf(segments).tag
}

/** Last segments of paths that do something with the resource before them. */
const VERBS = [
  'cancel',
  'description',
  'qr.svg',
  'qr.png',
  'receipt.pdf',
  'disable',
  'enable',
  'rotate',
  'test',
  'resend',
  'revoke',
]

/** Returns the tag and the singular noun for the last fixed segment of the path that is no verb. */
export function nounOf(segments: string[]): { tag: string; singular: string } {
  const last = segments.findLast(part => !isParameter(part) && !VERBS.includes(part)) ?? ''
  const name = last.charAt(0).toUpperCase() + last.slice(1)
  return NOUNS[last] ?? { tag: name, singular: name }
}
