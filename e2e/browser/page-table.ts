import type { AnyPermission } from '#lib/services/people/roles.ts'

/**
 * Audience of a page. anybody: includes visitors. person: every signed-in user. member: members of
 * the account shown. A permission: members whose role has it. admin: the operator's staff.
 */
type Audience = 'anybody' | 'person' | 'member' | 'admin' | AnyPermission

/** Every page in app; e2e/browser/gates.spec.ts fails if a page is missing. */
export const PAGES: Record<string, Audience> = {
  '/login': 'anybody',
  '/signup': 'anybody',
  '/signup/[secret]': 'anybody',
  '/verify': 'person',
  '/verify/[secret]': 'person',
  '/join/[secret]': 'anybody',
  '/reset': 'anybody',
  '/reset/[secret]': 'anybody',
  '/[mode]/home': 'person',
  '/[mode]/bank': 'member',
  '/[mode]/charges': 'member',
  '/[mode]/charges/new': 'transactions:write',
  '/[mode]/charges/[id]': 'member',
  '/[mode]/charges/[id]/receipt': 'member',
  '/[mode]/withdrawals': 'member',
  '/[mode]/withdrawals/new': 'withdrawals:write',
  '/[mode]/withdrawals/[id]': 'member',
  '/[mode]/withdrawals/[id]/receipt': 'member',
  '/[mode]/statement': 'member',
  '/[mode]/disputes': 'member',
  '/[mode]/webhooks': 'member',
  '/[mode]/webhooks/deliveries/[id]': 'member',
  '/[mode]/webhooks/endpoints': 'member',
  '/[mode]/webhooks/endpoints/new': 'webhooks:write',
  '/[mode]/webhooks/endpoints/[id]': 'member',
  '/[mode]/settings': 'member',
  '/[mode]/settings/members': 'member',
  '/[mode]/settings/tokens': 'member',
  '/[mode]/settings/tokens/new': 'tokens:write',
  '/[mode]/settings/security': 'person',
  '/[mode]/settings/audit': 'audit:read',
  '/admin': 'admin',
  '/admin/accounts': 'admin',
  '/admin/accounts/[id]': 'admin',
  '/admin/accounts/[id]/charges': 'admin',
  '/admin/accounts/[id]/withdrawals': 'admin',
  '/admin/banks': 'admin',
  '/admin/banks/new': 'admin',
  '/admin/banks/[id]': 'admin',
  '/admin/disputes': 'admin',
  '/admin/disputes/[account_id]/[id]': 'admin',
  '/admin/people': 'admin',
  '/admin/people/[id]': 'admin',
  '/admin/tokens': 'admin',
  '/admin/reconciliation': 'admin',
  '/admin/reconciliation/[id]': 'admin',
  '/admin/audit': 'admin',
  '/admin/health': 'admin',
}
