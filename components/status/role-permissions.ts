import type { AnyPermission } from '#lib/people/roles.ts'

export const ROLE_ACTIONS = [
  { name: 'see', needs: 'dashboard:read' },
  { name: 'charge', needs: 'transactions:write' },
  { name: 'cancel', needs: 'charges:write' },
  { name: 'refund', needs: 'refunds:write' },
  { name: 'withdraw', needs: 'withdrawals:write' },
  { name: 'approve', needs: 'withdrawals:approve' },
  { name: 'documents', needs: 'documents:reveal' },
  { name: 'payers', needs: 'payers:read' },
  { name: 'tokens', needs: 'tokens:write' },
  { name: 'adopt', needs: 'tokens:adopt' },
  { name: 'webhooks', needs: 'webhooks:write' },
  { name: 'secret', needs: 'secrets:write' },
  { name: 'settings', needs: 'settings:write' },
  { name: 'members', needs: 'members:write' },
  { name: 'audit', needs: 'audit:read' },
] as const satisfies { name: string; needs: AnyPermission }[]
