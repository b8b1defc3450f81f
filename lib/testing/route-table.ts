import { newId } from '#lib/base/ids.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import type { Permission } from '#lib/rooms/tokens/schema.ts'
import type { PagePermission } from '#lib/services/people/roles.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, CHARGE, makeMerchant, makeToken, receive } from '#lib/testing/stage.ts'

/** One method of one address, as the contract has it. */
export interface Operation {
  method: 'GET' | 'POST'
  /** As its folder below app/api is called. */
  path: string
  /** What a token needs; of several any will do. Null: anybody may read it. */
  allow: Permission[] | null
  /** A body that is taken, for a POST. */
  body?: object
  /** What a stranger hears who names something of another account. */
  missing?: string
}

const DECIDES: Permission[] = ['transactions:write', 'withdrawals:write']
const NO_CHARGE = 'Transaction not found'
const NO_WITHDRAWAL = 'Withdrawal not found'
const WITHDRAWAL = { amount: 1_000, pix_key: 'hold@example.com', pix_key_type: 'email' }

/** Every operation of the API. A route that is not in here fails e2e/api/permissions.test.ts. */
export const OPERATIONS: Operation[] = [
  { method: 'GET', path: '/account', allow: ['account:read'] },
  { method: 'GET', path: '/events', allow: ['events:read'] },
  { method: 'GET', path: '/transactions', allow: ['transactions:read'] },
  { method: 'POST', path: '/transactions', allow: ['transactions:write'], body: CHARGE },
  {
    method: 'GET',
    path: '/transactions/[id]',
    allow: ['transactions:read'],
    missing: NO_CHARGE,
  },
  {
    method: 'GET',
    path: '/transactions/[id]/refunds',
    allow: ['transactions:read'],
    missing: NO_CHARGE,
  },
  {
    method: 'POST',
    path: '/transactions/[id]/refunds',
    allow: ['refunds:write'],
    body: { amount: 1 },
    missing: NO_CHARGE,
  },
  {
    method: 'GET',
    path: '/transactions/[id]/refunds/[refund_id]',
    allow: ['transactions:read'],
    missing: NO_CHARGE,
  },
  { method: 'GET', path: '/withdrawals', allow: ['withdrawals:read'] },
  { method: 'POST', path: '/withdrawals', allow: ['withdrawals:write'], body: WITHDRAWAL },
  {
    method: 'GET',
    path: '/withdrawals/[id]',
    allow: ['withdrawals:read'],
    missing: NO_WITHDRAWAL,
  },
  {
    method: 'POST',
    path: '/sandbox/transactions/[id]',
    allow: DECIDES,
    body: { outcome: 'failed' },
    missing: NO_CHARGE,
  },
  {
    method: 'POST',
    path: '/sandbox/withdrawals/[id]',
    allow: DECIDES,
    body: { outcome: 'rejected' },
    missing: NO_WITHDRAWAL,
  },
]

/** One method of an address that serves our own pages only: no token opens it. */
export interface PageOperation extends Omit<Operation, 'method' | 'allow'> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  allow: PagePermission
  /** What a right request asks, such as `?q=ana`. */
  query?: string
  /** It answers for as long as somebody listens. */
  isEndless?: boolean
  /** Whoever it succeeds for is no member any more. */
  endsMembership?: boolean
}

const ENDPOINT = '/dashboard/webhooks/endpoints/[id]'
const NO_ENDPOINT = 'Endpoint not found'
const NO_DELIVERY = 'Delivery not found'
const reads = { method: 'GET', allow: 'webhooks:read' } as const
const writes = { method: 'POST', allow: 'webhooks:write' } as const

const TOKEN = '/dashboard/tokens/[id]'
const NO_TOKEN = 'Token not found'
const SETTINGS = { name: 'Loja', city: 'Recife', expires_in: 3_600, time_zone: 'America/Recife' }

const MEMBER = '/dashboard/members/[id]'
const INVITATION = '/dashboard/invitations/[id]'
const people = { allow: 'members:write' } as const

export const PAGE_OPERATIONS: PageOperation[] = [
  { method: 'GET', path: '/dashboard/members', allow: 'members:read' },
  {
    ...people,
    method: 'PATCH',
    path: MEMBER,
    body: { role: 'viewer' },
    missing: 'Member not found',
  },
  { ...people, method: 'DELETE', path: MEMBER, missing: 'Member not found' },
  {
    method: 'POST',
    path: '/dashboard/members/leave',
    allow: 'members:leave',
    endsMembership: true,
  },
  {
    ...people,
    method: 'POST',
    path: '/dashboard/invitations',
    body: { email: 'ana@example.com', role: 'viewer' },
  },
  { ...people, method: 'DELETE', path: INVITATION, missing: 'Invitation not found' },
  { method: 'GET', allow: 'dashboard:read', path: '/dashboard/home' },
  { method: 'GET', allow: 'dashboard:read', path: '/dashboard/steps' },
  { method: 'GET', allow: 'dashboard:read', path: '/dashboard/bank/read', query: '?code=x' },
  { method: 'GET', allow: 'dashboard:read', path: '/dashboard/charges/totals' },
  {
    method: 'GET',
    path: '/dashboard/charges/export',
    allow: 'dashboard:read',
    query: '?locale=en',
  },
  { method: 'GET', path: '/dashboard/audit', allow: 'audit:read' },
  { method: 'GET', path: '/dashboard/audit/export', allow: 'audit:read', query: '?locale=en' },
  { method: 'GET', path: '/dashboard/tokens', allow: 'tokens:read' },
  {
    method: 'POST',
    path: '/dashboard/tokens',
    allow: 'tokens:write',
    body: { name: 'Loja virtual', permissions: ['account:read'] },
  },
  {
    method: 'POST',
    path: `${TOKEN}/revoke`,
    allow: 'tokens:write',
    body: { reason: 'leaked' },
    missing: NO_TOKEN,
  },
  {
    method: 'POST',
    path: `${TOKEN}/rotate`,
    allow: 'tokens:write',
    body: { overlap_hours: 24 },
    missing: NO_TOKEN,
  },
  { method: 'PATCH', path: '/dashboard/account', allow: 'settings:write', body: SETTINGS },
  {
    method: 'PATCH',
    path: '/dashboard/profile',
    allow: 'profile:write',
    body: { theme: 'dark' },
  },
  {
    method: 'POST',
    path: '/dashboard/charges/[id]/document',
    allow: 'documents:reveal',
    missing: NO_CHARGE,
  },
  { method: 'GET', path: '/dashboard/find', allow: 'dashboard:read', query: '?q=x' },
  {
    method: 'GET',
    path: '/dashboard/charges/[id]/timeline',
    allow: 'dashboard:read',
    missing: NO_CHARGE,
  },
  {
    method: 'GET',
    path: '/dashboard/charges/[id]/live',
    allow: 'dashboard:read',
    missing: NO_CHARGE,
    isEndless: true,
  },
  {
    method: 'GET',
    path: '/dashboard/statement/export',
    allow: 'dashboard:read',
    query: '?format=csv&locale=en',
  },
  {
    method: 'GET',
    path: '/dashboard/withdrawals/[id]/timeline',
    allow: 'dashboard:read',
    missing: NO_WITHDRAWAL,
  },
  { ...reads, path: '/dashboard/webhooks/endpoints' },
  {
    ...writes,
    path: '/dashboard/webhooks/endpoints',
    body: { url: 'http://127.0.0.1:9/hook', event_types: '*' },
  },
  { ...reads, path: ENDPOINT, missing: NO_ENDPOINT },
  {
    ...writes,
    method: 'PATCH',
    path: ENDPOINT,
    body: { event_types: ['transaction.paid'] },
    missing: NO_ENDPOINT,
  },
  { ...writes, method: 'DELETE', path: ENDPOINT, missing: NO_ENDPOINT },
  { ...writes, path: `${ENDPOINT}/disable`, missing: NO_ENDPOINT },
  { ...writes, path: `${ENDPOINT}/enable`, body: {}, missing: NO_ENDPOINT },
  { ...writes, path: `${ENDPOINT}/rotate`, missing: NO_ENDPOINT },
  { ...writes, path: `${ENDPOINT}/test`, body: {}, missing: NO_ENDPOINT },
  { ...writes, method: 'GET', path: '/dashboard/webhooks/secret' },
  { ...writes, path: '/dashboard/webhooks/secret/rotate' },
  { ...reads, path: '/dashboard/webhooks/deliveries' },
  { ...reads, path: '/dashboard/webhooks/deliveries/[id]', missing: NO_DELIVERY },
  { ...writes, path: '/dashboard/webhooks/deliveries/[id]/resend', missing: NO_DELIVERY },
  {
    method: 'GET',
    allow: 'dashboard:read',
    path: '/dashboard/webhooks/deliveries/resend',
    query: `?from=${new Date(Date.now() - 3_600_000).toISOString()}`,
  },
  {
    ...writes,
    path: '/dashboard/webhooks/deliveries/resend',
    body: { from: new Date(Date.now() - 3_600_000).toISOString() },
  },
]

/** One method of an address that belongs to no account. */
export interface DoorOperation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  who: 'visitor' | 'person' | 'admin'
  /** Asked again who one is, where that is asked. */
  takesProof?: boolean
}

const ADMIN_ACCOUNT = '/admin/accounts/[id]'
const ofAdmins = { method: 'POST', who: 'admin', takesProof: true } as const

/** A route of app/api/{visitor,person,admin} that is not in here fails e2e/api/admin-person-visitor.test.ts. */
export const DOOR_OPERATIONS: DoorOperation[] = [
  { ...ofAdmins, path: `${ADMIN_ACCOUNT}/activate` },
  { ...ofAdmins, path: `${ADMIN_ACCOUNT}/suspend` },
  { ...ofAdmins, path: `${ADMIN_ACCOUNT}/limits`, method: 'PUT' },
  { ...ofAdmins, path: `${ADMIN_ACCOUNT}/tokens/revoke` },
  { ...ofAdmins, path: `${ADMIN_ACCOUNT}/tokens/[token_id]/revoke` },
  { ...ofAdmins, path: `${ADMIN_ACCOUNT}/charges/[charge_id]/document` },
  { method: 'GET', path: '/person/proof', who: 'person' },
  { method: 'POST', path: '/person/proof', who: 'person' },
  { method: 'POST', path: '/person/proof/passkey', who: 'person' },
  { method: 'POST', path: '/person/authenticator', who: 'person', takesProof: true },
  { method: 'DELETE', path: '/person/authenticator', who: 'person', takesProof: true },
  { method: 'POST', path: '/person/authenticator/confirm', who: 'person', takesProof: true },
  { method: 'POST', path: '/person/passkeys', who: 'person', takesProof: true },
  { method: 'POST', path: '/person/passkeys/options', who: 'person', takesProof: true },
  { method: 'DELETE', path: '/person/passkeys/[id]', who: 'person', takesProof: true },
  { method: 'POST', path: '/person/recovery-codes', who: 'person' },
  { method: 'POST', path: '/visitor/passkey', who: 'visitor' },
  { method: 'POST', path: '/visitor/reset', who: 'visitor' },
  { method: 'POST', path: '/visitor/reset/confirm', who: 'visitor' },
  { method: 'POST', path: '/person/password', who: 'person' },
  { method: 'GET', path: '/person/sessions', who: 'person' },
  { method: 'DELETE', path: '/person/sessions', who: 'person' },
  { method: 'DELETE', path: '/person/sessions/[id]', who: 'person' },
  { method: 'GET', path: '/admin/audit', who: 'admin' },
  { method: 'GET', path: '/admin/audit/export', who: 'admin' },
  { method: 'GET', path: '/admin/health', who: 'admin' },
  { method: 'POST', path: '/admin/jobs/requeue', who: 'admin', takesProof: true },
  { method: 'POST', path: '/visitor/join', who: 'visitor' },
  { method: 'POST', path: '/visitor/signup', who: 'visitor' },
  { method: 'POST', path: '/person/join', who: 'person' },
  { method: 'POST', path: '/person/accounts', who: 'person' },
  { method: 'GET', path: '/admin/invitations', who: 'admin' },
  { method: 'POST', path: '/admin/invitations', who: 'admin', takesProof: true },
  { method: 'DELETE', path: '/admin/invitations/[id]', who: 'admin', takesProof: true },
]

export const PAGE_PATHS = [...new Set(PAGE_OPERATIONS.map(({ path }) => path))]

export const PATHS = [...new Set(OPERATIONS.map(({ path }) => path))]

/** What stands behind the open parts of a path, in one merchant's account. */
export interface World {
  merchant: Account
  token: string
  charge: string
  paid: string
  withdrawal: string
  refund: string
}

/** A merchant with one of everything, in which `word` stands wherever somebody can write. */
export async function makeWorld(api: Api, word = 'plain'): Promise<World> {
  const merchant = await makeMerchant(`Loja ${word}`)
  const token = await makeToken(merchant.id)
  await receive(merchant, 100_000)
  const send = async (path: string, body: object) =>
    (await call(api.url, 'POST', path, { token, body })).body.data
  const webhook_url = `https://${word}.example/hook`
  const words = { metadata: { [word]: word }, utms: { [word]: word }, webhook_url }
  const payer = { client_name: `Ana ${word}`, client_email: `${word}@example.com` }
  const items = [{ name: word }]
  const order = { ...CHARGE, ...words, ...payer, items }
  const [charge, paid] = [newId(), newId()].map(id => ({ ...order, external_id: `${word}${id} x` }))
  const chargeId = (await send('/transactions', charge ?? {})).transaction_id
  const paidId = (await send('/transactions', paid ?? {})).transaction_id
  await send(`/sandbox/transactions/${paidId}`, { outcome: 'paid' })
  const key = { pix_key: `hold@${word}.example`, pix_key_type: 'email', external_id: `${word} 1` }
  const withdrawal = await send('/withdrawals', { amount: 1_000, ...key, webhook_url })
  const refund = await send(`/transactions/${paidId}/refunds`, { amount: 100, reason: word })
  const ids = { charge: chargeId, paid: paidId, withdrawal: withdrawal.id, refund: refund.id }
  return { merchant, token, ...ids }
}

/** The address of an operation in somebody's account. */
export function addressIn(world: World, path: string): string {
  const charge = path.includes('/refunds') ? world.paid : world.charge
  return path
    .replace('[refund_id]', world.refund)
    .replace('[id]', path.includes('/withdrawals/') ? world.withdrawal : charge)
}
