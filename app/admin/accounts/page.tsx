import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { AccountList } from '#components/account-list.tsx'
import { ClientWords } from '#components/client-words.tsx'
import { Frame } from '#components/nav/frame.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { listAccounts } from '#lib/accounts/queries.ts'
import { requireAdmin } from '#lib/session/gate.ts'
import { chooseAccount } from '#lib/session/preferences.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('accounts'))('title') }
}

export default async function AccountsPage() {
  const user = await requireAdmin()
  const [t, account] = await Promise.all([getTranslations('accounts'), chooseAccount(user)])
  const accounts = await listAccounts()
  const lines = accounts.map(account => ({
    ...account,
    createdAt: account.createdAt.toISOString(),
  }))
  return (
    <ClientWords>
      <Frame user={user} account={account}>
        <h1 className="mb-1 text-head">{t('title')}</h1>
        <p className="mb-6 text-muted text-small">{t('count', { count: lines.length })}</p>
        {lines.length > 0 ? (
          <AccountList accounts={lines} />
        ) : (
          <Sheet className="px-4 py-6 text-muted md:px-7">{t('none')}</Sheet>
        )}
      </Frame>
    </ClientWords>
  )
}
