import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import {
  Answer,
  DisputeFacts,
  Evidence,
  MerchantEvidence,
} from '#app/admin/disputes/[account_id]/[id]/dispute.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { Money } from '#components/format/format.tsx'
import { DisputeState } from '#components/status/state-chips.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { BANK_LOCALE, draftAnswer, readDispute } from '#lib/operator/disputes.ts'
import { requireAdmin } from '#lib/session/gate.ts'
import { readLocale } from '#lib/session/preferences.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('disputes'))('facts') }
}

interface DisputePageProps {
  params: Promise<{ account_id: string; id: string }>
}

export default async function DisputePage({ params }: DisputePageProps) {
  await requireAdmin()
  const { account_id: accountId, id } = await params
  const [t, locale, dispute] = await Promise.all([
    getTranslations('disputes'),
    readLocale(),
    readDispute(accountId, id),
  ])
  if (!dispute) notFound()
  const { evidence, amount } = dispute
  const draft = draftAnswer(dispute, BANK_LOCALE)
  const translation = locale === BANK_LOCALE ? null : draftAnswer(dispute, locale)
  return (
    <ClientMessages namespaces={['adminDeed', 'disputes']}>
      <PageHead
        title={<Money cents={amount} />}
        parent={{ href: '/admin/disputes', label: t('title') }}
        state={<DisputeState dispute={dispute} />}
      />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
        <div className="grid min-w-0 gap-6">
          <Sheet className="px-4 py-5 md:px-7 md:py-6">
            <h2 className="mb-5 text-title">{t('facts')}</h2>
            <DisputeFacts dispute={dispute} />
          </Sheet>
          <Sheet className="px-4 py-5 md:px-7 md:py-6">
            <h2 className="text-title">{t('evidence')}</h2>
            <p className="mt-1 mb-5 text-muted text-small">{t('evidenceText')}</p>
            <Evidence evidence={evidence} />
          </Sheet>
        </div>
        <Sheet className="px-4 py-5 md:px-7 md:py-6">
          <h2 className="text-title">{t('sentEvidence')}</h2>
          <MerchantEvidence dispute={dispute} />
          <h2 className="mt-7 mb-4 text-title">{t('answer')}</h2>
          <Answer {...{ dispute, draft, translation }} />
        </Sheet>
      </div>
    </ClientMessages>
  )
}
