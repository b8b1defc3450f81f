import { LockKeyhole } from 'lucide-react'
import { getLocale, getTranslations } from 'next-intl/server'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'
import { listMembers } from '#lib/accounts/queries.ts'
import { chooseAccount, requireUser } from '#lib/session/gate.ts'

/** Shown for a page that the role of a member does not allow: it says whom to ask. */
export default async function NotAllowed() {
  const [t, locale, account] = await Promise.all([
    getTranslations(),
    getLocale(),
    requireUser().then(chooseAccount),
  ])
  const members = account ? await listMembers(account.id) : []
  const names = members.filter(({ role }) => role === 'owner').map(member => member.full_name)
  const owners = new Intl.ListFormat(locale, { type: 'disjunction' }).format(names)
  const role = account ? t(`members.role.${account.role}`) : ''
  return (
    <Sheet className="mt-2">
      <h1 className="sr-only">{t('notAllowed.title')}</h1>
      <EmptyState
        icon={LockKeyhole}
        title={t('notAllowed.title')}
        text={t('notAllowed.text', { role })}
      >
        <p className="max-w-full wrap-anywhere font-medium">{t('notAllowed.ask', { owners })}</p>
      </EmptyState>
    </Sheet>
  )
}
