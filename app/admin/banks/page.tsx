import { Plus } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { getTranslations } from 'next-intl/server'
import { BankRows } from '#app/admin/banks/bank-list.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { listBankLines, sumOwned } from '#lib/operator/banks/list.ts'
import { requireAdmin } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('banks'))('title') }
}

export default async function BanksPage() {
  await requireAdmin()
  const [t, banks, owned] = await Promise.all([
    getTranslations('banks'),
    listBankLines(),
    sumOwned(),
  ])
  return (
    <ClientMessages namespaces={['banks']}>
      <PageHead title={t('title')}>
        {banks.length > 0 ? (
          <Link href="/admin/banks/new" className={buttonClass('primary')}>
            <Plus size={16} aria-hidden />
            {t('add')}
          </Link>
        ) : null}
      </PageHead>
      <BankRows banks={banks} owned={owned} />
    </ClientMessages>
  )
}
