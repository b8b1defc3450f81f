const NOUNS: Record<string, { tag: string; singular: string }> = {
  account: { tag: 'Account', singular: 'Account' },
  transactions: { tag: 'Charges', singular: 'Charge' },
  refunds: { tag: 'Refunds', singular: 'Refund' },
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

/** Operation ids that a rule would give badly: `listRefunds` lists those of a charge. */
const OPERATION_IDS: Record<string, string> = {
  refunds: 'listAllRefunds',
  statement: 'listStatementEntries',
  'statement.csv': 'downloadStatement',
  'balance/history': 'listBalanceHistory',
  'transactions/[id]/qr.svg': 'drawChargeSvg',
  'transactions/[id]/qr.png': 'drawChargePng',
  'transactions/[id]/description': 'describeCharge',
  'transactions/[id]/receipt.pdf': 'downloadChargeReceipt',
  'withdrawals/[id]/receipt.pdf': 'downloadWithdrawalReceipt',
  'webhooks/endpoints/[id]/rotate': 'rotateEndpointSecret',
  'webhooks/deliveries': 'listDeliveries',
  'webhooks/deliveries/resend': 'resendFailedDeliveries',
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

export function operationId(segments: string[], method: string): string {
  const givenId = OPERATION_IDS[segments.join('/')]
  if (givenId) return givenId
  const { singular } = nounOf(segments)
  const isSingle = isParameter(segments.at(-1) ?? '') || segments.at(-1) === 'account'
  const verb = VERBS.find(name => segments.at(-1) === name)
  if (verb) return verb + singular
  if (segments[0] === 'sandbox') return `simulate${singular}`
  if (method === 'GET') return isSingle ? `get${singular}` : `list${singular}s`
  const action = { POST: 'create', PATCH: 'update' }[method] ?? method.toLowerCase()
  return action + singular
}
