/** Pages that need no session. A word after a colon is the kind of an id. */
export const VISITOR_PAGES = [
  '/login',
  '/signup',
  '/signup/:signup',
  '/reset',
  '/reset/:reset',
  '/join/:invitation',
] as const

/** Pages of a user who has not proven the e-mail. */
export const UNPROVEN_PAGES = ['/verify', '/verify/:verification'] as const

/** Pages of a member. */
export const MEMBER_PAGES = [
  '/test/home',
  '/live/home',
  '/test/charges',
  '/test/charges/new',
  '/test/charges/:paid',
  '/test/charges/:paid/receipt',
  '/test/charges/:open',
  '/test/withdrawals',
  '/test/withdrawals/new',
  '/test/withdrawals/:withdrawal',
  '/test/withdrawals/:payout/receipt',
  '/test/statement',
  '/test/disputes',
  '/live/disputes',
  '/test/requests',
  '/test/requests/:request',
  '/test/webhooks',
  '/test/webhooks/deliveries/:delivery',
  '/test/webhooks/endpoints',
  '/test/webhooks/endpoints/new',
  '/test/webhooks/endpoints/:endpoint',
  '/test/settings',
  '/test/settings/tokens',
  '/test/settings/tokens/new',
  '/test/settings/members',
  '/test/settings/security',
  '/test/settings/audit',
  '/test/bank?charge=:open',
  ':payment',
] as const

/** Pages of the operator's staff. */
export const ADMIN_PAGES = [
  '/admin?span=30d',
  '/admin/accounts?q=:account',
  '/admin/accounts/:account',
  '/admin/accounts/:account/charges',
  '/admin/accounts/:account/withdrawals',
  '/admin/people?q=:person',
  '/admin/people/:person',
  '/admin/trace?id=:withdrawal',
  '/admin/tokens?q=:account',
  '/admin/audit?account=:account',
  '/admin/health',
  '/admin/banks',
  '/admin/banks/new',
  '/admin/banks/:bank',
  '/admin/disputes?q=:account',
  '/admin/disputes/:account/:dispute',
  '/admin/reconciliation?connection=:bank',
  '/admin/reconciliation/:item',
] as const

/** The pages with the most columns. */
export const DENSE_PAGES = [
  '/test/home',
  '/test/charges',
  '/test/statement',
  '/test/settings/members',
]
export const DENSE_ADMIN_PAGES = [
  '/admin/accounts/:account',
  '/admin/banks',
  '/admin/reconciliation/:item',
]

const VISITED_PAGES = [...VISITOR_PAGES, ...UNPROVEN_PAGES, ...MEMBER_PAGES, ...ADMIN_PAGES]

/** Returns whether a row of e2e/browser/page-table.ts, such as /[mode]/charges/[id], is visited. */
export function isVisited(pattern: string): boolean {
  const source = pattern.replace('[mode]', '(test|live)').replaceAll(/\[\w+\]/g, ':\\w+')
  return VISITED_PAGES.some(page => RegExp(`^${source}(\\?|$)`).test(page))
}
