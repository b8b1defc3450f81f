import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { BankForm } from '#app/admin/banks/new/bank-form.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { PROFILES } from '#lib/banks/api-pix/profiles.ts'
import { requireAdmin } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('bankForm'))('title') }
}

export default async function NewBankPage() {
  await requireAdmin()
  const [t, tBanks] = await Promise.all([getTranslations('bankForm'), getTranslations('banks')])
  // Efí has a kind of its own, which also pays out.
  const profiles = Object.keys(PROFILES).filter(name => name !== 'efi')
  const withAppKey = profiles.filter(name => usesAppKey(name))
  return (
    <ClientMessages namespaces={['banks', 'bankForm']}>
      <PageHead title={t('title')} parent={{ href: '/admin/banks', label: tBanks('title') }} />
      <p className="-mt-4 mb-6 max-w-[640px] text-muted">{t('text')}</p>
      <BankForm profiles={profiles} withAppKey={withAppKey} />
    </ClientMessages>
  )
}

function usesAppKey(name: string): boolean {
  const { headers = {}, query = {} } = PROFILES[name] ?? {}
  return [...Object.values(headers), ...Object.values(query)].includes('app_key')
}
