import { useLocale, useTranslations } from 'next-intl'
import type { Role } from '#lib/accounts/schema.ts'
import { type AnyPermission, hasPermission } from '#lib/people/roles.ts'

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

export function useRoleText(): (role: Role) => string {
  const t = useTranslations('members')
  const list = new Intl.ListFormat(useLocale(), { type: 'conjunction' })
  return role => {
    const names = ROLE_ACTIONS.filter(({ needs }) => hasPermission(role, needs)).map(({ name }) =>
      t(`inWords.${name}`),
    )
    return t('mayDo', { count: names.length, deeds: list.format(names) })
  }
}
