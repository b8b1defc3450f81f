import { LockKeyhole } from 'lucide-react'
import { getLocale, getTranslations } from 'next-intl/server'
import { OfPage } from '#app/[mode]/of-page.tsx'
import { ROLE_ACTIONS } from '#components/status/role-permissions.ts'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'
import { listMembers } from '#lib/accounts/queries.ts'
import { hasPermission, PAGE_NEEDS, type PageName, ROLES_BY_PERMISSION } from '#lib/people/roles.ts'
import { chooseAccount, requireUser } from '#lib/session/gate.ts'

/** Shown for a page that the role of a member does not allow: what it needs, who they are and whom to ask. */
export default async function NotAllowed() {
  const [t, locale, user] = await Promise.all([getTranslations(), getLocale(), requireUser()])
  const account = await chooseAccount(user)
  if (!account) return null
  const pages = Object.keys(PAGE_NEEDS) as PageName[]
  const refused = pages.filter(page => !hasPermission(account.role, PAGE_NEEDS[page]))
  // Next renders this beside each page.
  if (refused.length === 0) return null
  const members = await listMembers(account.id)
  const names = members.filter(({ role }) => role === 'owner').map(member => member.full_name)
  const anyOf = (parts: string[]) =>
    new Intl.ListFormat(locale, { type: 'disjunction' }).format(parts)
  const needOf = (page: PageName) => {
    const needs = PAGE_NEEDS[page]
    const action = ROLE_ACTIONS.find(one => one.needs === needs)
    const roles = anyOf(ROLES_BY_PERMISSION[needs].map(role => t(`members.role.${role}`)))
    return action ? t('notAllowed.needs', { deed: t(`members.deed.${action.name}`), roles }) : null
  }
  return (
    <Sheet className="mt-2">
      <h1 className="sr-only">{t('notAllowed.title')}</h1>
      <EmptyState
        icon={LockKeyhole}
        title={t('notAllowed.title')}
        text={<OfPage texts={Object.fromEntries(refused.map(page => [page, needOf(page)]))} />}
      >
        <div className="grid max-w-full justify-items-center gap-1 wrap-anywhere">
          <p className="text-muted text-small">
            {t('notAllowed.you', {
              email: user.email,
              role: t(`members.role.${account.role}`),
              account: account.name,
            })}
          </p>
          <p className="font-medium">{t('notAllowed.ask', { owners: anyOf(names) })}</p>
        </div>
      </EmptyState>
    </Sheet>
  )
}
