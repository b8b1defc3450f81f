import type { AccountlessEndpoint, Endpoint } from '#lib/http/endpoint.ts'
import { loadRoutes } from '#lib/http/routes.ts'
import type { PagePermission } from '#lib/people/roles.ts'
import { sampleOf } from '#lib/testing/sample.ts'
import type { Permission } from '#lib/tokens/schema.ts'

/** Details of a row that follow neither from the path nor from the declaration. */
interface DetailedRow<Allow> {
  allow: Allow
  /** Body to send instead of the sample of the schema. */
  body?: object
  /** Query string to send instead of the sample of the schema. */
  query?: string
  /** The response does not end until the client disconnects. */
  isEndless?: boolean
  /** A successful call ends the caller's membership. */
  endsMembership?: boolean
}
type Row<Allow> = Allow | DetailedRow<Allow>

const SANDBOX_PERMISSIONS: Permission[] = ['transactions:write', 'withdrawals:write']

/** Permissions are repeated here, so that tests find a route that checks the wrong permission. */
const API_ROWS: Record<string, Row<Permission | Permission[]>> = {
  'GET /account': 'account:read',
  'GET /events': 'events:read',
  'GET /transactions': 'transactions:read',
  'POST /transactions': 'transactions:write',
  'GET /transactions/[id]': 'transactions:read',
  'POST /transactions/[id]/cancel': 'transactions:write',
  'PUT /transactions/[id]/description': {
    allow: 'transactions:write',
    body: { description: 'a' },
  },
  'GET /statement.csv': 'statement:read',
  'GET /transactions/[id]/qr.svg': 'transactions:read',
  'GET /transactions/[id]/qr.png': 'transactions:read',
  'GET /transactions/[id]/receipt.pdf': 'transactions:read',
  'GET /transactions/[id]/refunds': 'transactions:read',
  'POST /transactions/[id]/refunds': { allow: 'refunds:write', body: { amount: 1 } },
  'GET /transactions/[id]/refunds/[refund_id]': 'transactions:read',
  'GET /refunds': 'transactions:read',
  'GET /disputes': 'transactions:read',
  'GET /disputes/[id]': 'transactions:read',
  'GET /disputes/[id]/evidence': 'transactions:read',
  'POST /disputes/[id]/evidence': { allow: 'transactions:write', body: { text: 'a' } },
  'GET /disputes/[id]/evidence/[evidence_id]': 'transactions:read',
  'GET /statement': 'statement:read',
  'GET /balance/history': 'statement:read',
  'GET /requests': 'requests:read',
  'GET /requests/[id]': 'requests:read',
  'GET /withdrawals': 'withdrawals:read',
  'POST /withdrawals': 'withdrawals:write',
  'GET /withdrawals/[id]': 'withdrawals:read',
  'GET /withdrawals/[id]/receipt.pdf': 'withdrawals:read',
  'GET /tokens': 'tokens:read',
  'POST /tokens': {
    allow: 'tokens:write',
    body: { name: 'a', permissions: ['account:read'] },
  },
  'PATCH /tokens/[id]': {
    allow: 'tokens:write',
    body: { allowed_addresses: ['203.0.113.7'] },
  },
  'POST /tokens/[id]/revoke': { allow: 'tokens:write', body: { reason: 'leaked' } },
  'POST /tokens/[id]/rotate': { allow: 'tokens:write', body: { overlap_hours: 24 } },
  'GET /webhooks/endpoints': 'webhooks:read',
  'POST /webhooks/endpoints': 'webhooks:write',
  'GET /webhooks/endpoints/[id]': 'webhooks:read',
  'PATCH /webhooks/endpoints/[id]': {
    allow: 'webhooks:write',
    body: { event_types: ['transaction.paid'] },
  },
  'DELETE /webhooks/endpoints/[id]': 'webhooks:write',
  'POST /webhooks/endpoints/[id]/disable': 'webhooks:write',
  'POST /webhooks/endpoints/[id]/enable': 'webhooks:write',
  'POST /webhooks/endpoints/[id]/rotate': 'webhooks:write',
  'POST /webhooks/endpoints/[id]/test': 'webhooks:write',
  'GET /webhooks/deliveries': 'webhooks:read',
  'GET /webhooks/deliveries/[id]': 'webhooks:read',
  'POST /webhooks/deliveries/[id]/resend': 'webhooks:write',
  'POST /webhooks/deliveries/resend': {
    allow: 'webhooks:write',
    body: { from: anHourAgo() },
  },
  'POST /sandbox/transactions/[id]': { allow: SANDBOX_PERMISSIONS, body: { outcome: 'failed' } },
  'POST /sandbox/withdrawals/[id]': { allow: SANDBOX_PERMISSIONS, body: { outcome: 'rejected' } },
  'POST /sandbox/refunds/[id]': { allow: SANDBOX_PERMISSIONS, body: { outcome: 'rejected' } },
  'POST /sandbox/transactions/[id]/disputes': { allow: SANDBOX_PERMISSIONS, body: { amount: 1 } },
  'POST /sandbox/clock': { allow: SANDBOX_PERMISSIONS, body: { advance: '1s' } },
  'POST /sandbox/webhooks': { allow: SANDBOX_PERMISSIONS, body: { fault: 'timeout' } },
  'DELETE /sandbox/controls': { allow: SANDBOX_PERMISSIONS },
  'POST /sandbox/disputes/[id]': { allow: SANDBOX_PERMISSIONS, body: { outcome: 'won' } },
}

const ANY_PAGE = 'dashboard:read'

/** Operations of Troco's own pages, which accept no token. */
const PAGE_ROWS: Record<string, Row<PagePermission>> = {
  'GET /dashboard/members': 'members:read',
  // Before the removal of the member.
  'GET /dashboard/members/[id]/tokens': 'members:read',
  'PATCH /dashboard/members/[id]': { allow: 'members:write', body: { role: 'viewer' } },
  'DELETE /dashboard/members/[id]': 'members:write',
  'POST /dashboard/members/leave': { allow: 'members:leave', endsMembership: true },
  'POST /dashboard/invitations': {
    allow: 'members:write',
    body: { email: 'ana@example.com', role: 'viewer' },
  },
  'DELETE /dashboard/invitations/[id]': 'members:write',
  'GET /dashboard/home': ANY_PAGE,
  'GET /dashboard/steps': ANY_PAGE,
  'GET /dashboard/bank/read': ANY_PAGE,
  'GET /dashboard/charges': ANY_PAGE,
  'GET /dashboard/charges/totals': ANY_PAGE,
  'GET /dashboard/charges/export': ANY_PAGE,
  'GET /dashboard/audit': 'audit:read',
  'GET /dashboard/audit/export': 'audit:read',
  'POST /dashboard/tokens/[id]/adopt': 'tokens:adopt',
  'PATCH /dashboard/account': 'settings:write',
  'GET /dashboard/account/approval': ANY_PAGE,
  'PATCH /dashboard/account/approval': {
    allow: 'settings:write',
    body: { new_keys: true, above: 100_000 },
  },
  'DELETE /dashboard/account/approval': 'settings:write',
  'POST /dashboard/account/approval/confirm': {
    allow: 'settings:write',
    body: { id: '01a1fbb9-7fa1-7c33-8f6a-2f1f5a0e9c41' },
  },
  'POST /dashboard/account/live': 'settings:write',
  'PATCH /dashboard/profile': { allow: 'profile:write', body: { theme: 'dark' } },
  'POST /dashboard/charges/[id]/document': 'documents:reveal',
  'POST /dashboard/charges/[id]/description': {
    allow: 'charges:write',
    body: { description: 'a' },
  },
  'POST /dashboard/charges/[id]/cancel': 'charges:write',
  'GET /dashboard/find': ANY_PAGE,
  'GET /dashboard/charges/[id]/timeline': ANY_PAGE,
  'GET /dashboard/charges/[id]/receipt': ANY_PAGE,
  'GET /dashboard/charges/[id]/live': { allow: ANY_PAGE, isEndless: true },
  'GET /dashboard/statement/export': ANY_PAGE,
  'GET /dashboard/refunds/export': ANY_PAGE,
  'GET /dashboard/withdrawals': ANY_PAGE,
  'GET /dashboard/withdrawals/export': ANY_PAGE,
  'GET /dashboard/withdrawals/waiting': ANY_PAGE,
  'GET /dashboard/withdrawals/[id]/timeline': ANY_PAGE,
  'GET /dashboard/withdrawals/[id]/receipt': ANY_PAGE,
  'POST /dashboard/withdrawals/[id]/approve': 'withdrawals:approve',
  'POST /dashboard/withdrawals/[id]/decline': 'withdrawals:approve',
  'GET /dashboard/webhooks/secret': 'secrets:write',
  'POST /dashboard/webhooks/secret/rotate': 'secrets:write',
  'POST /dashboard/webhooks/deliveries/[id]/document': 'documents:reveal',
  'GET /dashboard/webhooks/deliveries/resend': { allow: ANY_PAGE, query: `?from=${anHourAgo()}` },
}

function anHourAgo(): string {
  return new Date(Date.now() - 3_600_000).toISOString()
}

/**
 * Operations outside of accounts, with or without a required proof. The first folder is the
 * audience.
 */
const ACCOUNTLESS_ROWS: Record<string, 'with proof' | 'without'> = {
  'POST /admin/accounts/[id]/activate': 'with proof',
  'POST /admin/accounts/[id]/suspend': 'with proof',
  'POST /admin/accounts/status': 'with proof',
  'POST /admin/accounts/[id]/view': 'with proof',
  'PUT /admin/accounts/[id]/limits': 'with proof',
  'PUT /admin/accounts/[id]/connections': 'with proof',
  'POST /admin/accounts/[id]/approval': 'with proof',
  'POST /admin/accounts/[id]/write-offs': 'with proof',
  'POST /admin/differences/[id]/corrections': 'with proof',
  'POST /admin/differences/[id]/corrections/[correction_id]/approve': 'with proof',
  'POST /admin/accounts/[id]/tokens/revoke': 'with proof',
  'POST /admin/accounts/[id]/tokens/[token_id]/revoke': 'with proof',
  'POST /admin/accounts/[id]/charges/[charge_id]/document': 'with proof',
  'POST /admin/accounts/[id]/disputes/[dispute_id]/answer': 'with proof',
  'GET /admin/accounts/[id]/disputes/[dispute_id]/evidence/[evidence_id]': 'without',
  'POST /admin/orders/[id]/end': 'with proof',
  'POST /admin/orders/[id]/end/confirm': 'with proof',
  'GET /person/proof': 'without',
  'POST /person/proof': 'without',
  'POST /person/proof/passkey': 'without',
  'POST /person/authenticator': 'with proof',
  'DELETE /person/authenticator': 'with proof',
  'POST /person/authenticator/confirm': 'with proof',
  'POST /person/passkeys': 'with proof',
  'POST /person/passkeys/options': 'with proof',
  'DELETE /person/passkeys/[id]': 'with proof',
  'POST /person/recovery-codes': 'without',
  'POST /visitor/passkey': 'without',
  'POST /visitor/reset': 'without',
  'POST /visitor/reset/confirm': 'without',
  'POST /person/password': 'without',
  'GET /person/sessions': 'without',
  'DELETE /person/sessions': 'without',
  'DELETE /person/viewing': 'without',
  'DELETE /person/sessions/[id]': 'without',
  'POST /admin/people/[id]/password': 'with proof',
  'POST /admin/people/[id]/second-factor': 'with proof',
  'GET /admin/accounts': 'without',
  'GET /admin/banks': 'without',
  'GET /admin/tasks': 'without',
  'POST /admin/banks': 'with proof',
  'GET /admin/banks/[id]': 'without',
  'GET /admin/banks/[id]/balance': 'without',
  'POST /admin/banks/[id]/check': 'with proof',
  'POST /admin/banks/[id]/settings': 'with proof',
  'POST /admin/banks/[id]/notices': 'with proof',
  'PUT /admin/banks/[id]/credentials': 'with proof',
  'PUT /admin/banks/[id]/limits': 'with proof',
  'POST /admin/banks/[id]/close': 'with proof',
  'POST /admin/banks/[id]/money-out': 'with proof',
  'GET /admin/banks/[id]/trial': 'without',
  'POST /admin/banks/[id]/trial': 'with proof',
  'GET /admin/differences': 'without',
  'GET /admin/differences/export': 'with proof',
  'GET /admin/differences/[id]': 'without',
  'GET /admin/differences/[id]/corrections/[correction_id]/attachment': 'without',
  'POST /admin/differences/[id]/resolve': 'with proof',
  'GET /admin/audit': 'without',
  'GET /admin/audit/export': 'with proof',
  'GET /admin/health': 'without',
  'POST /admin/jobs/requeue': 'with proof',
  'POST /visitor/join': 'without',
  'POST /visitor/join/mail': 'without',
  'POST /visitor/signup': 'without',
  'POST /visitor/signup/confirm': 'without',
  'POST /person/email': 'without',
  'POST /person/email/confirm': 'without',
  'POST /person/openid': 'with proof',
  'POST /person/join': 'without',
  'POST /person/accounts': 'without',
  'GET /admin/invitations': 'without',
  'POST /admin/invitations': 'with proof',
  'DELETE /admin/invitations/[id]': 'with proof',
}

interface DescribedOperation<Method, Allow> {
  method: Method
  /** Folder below app/api. */
  path: string
  /** Required permission; of a list, any one is sufficient. */
  allow: Allow
  /** A valid body, if the route declares one. */
  body?: object
  /** A valid query string, if the route declares a query. */
  query?: string
  /** Error message for ids of another account. */
  missing?: string
  isEndless?: boolean
  endsMembership?: boolean
}
export type Operation = DescribedOperation<'GET' | 'POST' | 'PATCH' | 'DELETE', Permission[]>
export type PageOperation = DescribedOperation<'GET' | 'POST' | 'PATCH' | 'DELETE', PagePermission>

export interface AccountlessOperation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  audience: 'visitor' | 'person' | 'admin'
  requiresProof: boolean
}

/** Error message for unknown ids, by the folder of the ids. */
const NOT_FOUND_MESSAGES: Record<string, string> = {
  transactions: 'Transaction not found',
  charges: 'Transaction not found',
  withdrawals: 'Withdrawal not found',
  refunds: 'Refund not found',
  disputes: 'Dispute not found',
  requests: 'Request not found',
  endpoints: 'Endpoint not found',
  deliveries: 'Delivery not found',
  tokens: 'Token not found',
  members: 'Member not found',
  invitations: 'Invitation not found',
}

const routes = new Map(
  (await loadRoutes()).flatMap(({ segments, handlers }) =>
    [...handlers]
      .filter(([method]) => method !== 'HEAD')
      .map(([method, handler]): [string, Endpoint | AccountlessEndpoint] => [
        `${method} /${segments.join('/')}`,
        handler,
      ]),
  ),
)

/** Returns problems of the tables above, each with what to do. */
export function findTableProblems(): string[] {
  const rows = Object.keys({ ...API_ROWS, ...PAGE_ROWS, ...ACCOUNTLESS_ROWS })
  return [
    ...[...routes.keys()]
      .filter(name => !rows.includes(name))
      .map(name => `${name} has no row: say who may call it in lib/testing/route-table.ts`),
    ...rows
      .filter(name => !routes.has(name))
      .map(name => `${name} is no route: take its row out of lib/testing/route-table.ts`),
  ]
}

function makeOperation<Method extends string, Allow>([name, row]: [string, DetailedRow<Allow>]) {
  const [method = '', path = ''] = name.split(' ')
  const { body, query } = (routes.get(name) as Endpoint | undefined)?.declared ?? {}
  const missing = NOT_FOUND_MESSAGES[/(\w+)\/\[id\]/.exec(path)?.[1] ?? '']
  const queryString = query && `?${new URLSearchParams(sampleOf(query) as Record<string, string>)}`
  return {
    method: method as Method,
    path,
    ...(body ? { body: sampleOf(body.test) } : {}),
    ...(queryString && queryString !== '?' ? { query: queryString } : {}),
    ...(missing ? { missing } : {}),
    ...row,
  }
}

function isDetailed<Allow>(row: Row<Allow>): row is DetailedRow<Allow> {
  return typeof row === 'object' && row !== null && 'allow' in row
}

export const OPERATIONS: Operation[] = Object.entries(API_ROWS).map(([name, row]) => {
  const { allow, ...details } = isDetailed(row) ? row : { allow: row }
  return makeOperation([name, { ...details, allow: [allow].flat() }])
})

export const PAGE_OPERATIONS: PageOperation[] = Object.entries(PAGE_ROWS).map(([name, row]) =>
  makeOperation([name, isDetailed(row) ? row : { allow: row }]),
)

export const ACCOUNTLESS_OPERATIONS: AccountlessOperation[] = Object.entries(ACCOUNTLESS_ROWS).map(
  ([name, proof]) => {
    const [method = '', path = ''] = name.split(' ')
    return {
      method: method as AccountlessOperation['method'],
      path,
      audience: path.split('/')[1] as AccountlessOperation['audience'],
      requiresProof: proof === 'with proof',
    }
  },
)

export const PAGE_PATHS = [...new Set(PAGE_OPERATIONS.map(({ path }) => path))]

export const PATHS = [...new Set(OPERATIONS.map(({ path }) => path))]
