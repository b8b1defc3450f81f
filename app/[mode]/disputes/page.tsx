import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { OwnDisputes } from '#app/[mode]/disputes/list.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { disputesPageQuery } from '#lib/charges/disputes/schema.ts'
import { listOwnDisputes } from '#lib/dashboard/disputes.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readFilters } from '#lib/dashboard/url-filters.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'

interface DisputesPageProps {
  params: Promise<{ mode: string }>
  searchParams: Promise<SearchParams>
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('disputes'))('title') }
}

export default async function DisputesPage({ params, searchParams }: DisputesPageProps) {
  const { account, mode, user } = await requireMember(params)
  const { query } = readFilters(await searchParams, disputesPageQuery, account.timeZone)
  const [t, { rows, nextCursor }] = await Promise.all([
    getTranslations('disputes'),
    listOwnDisputes(account.id, mode, query),
  ])
  return (
    <ClientMessages namespaces={['disputes']}>
      <PageHead title={t('title')} />
      <p className="-mt-4 mb-5 max-w-[72ch] text-muted">{t('ownText')}</p>
      <OwnDisputes disputes={hideFromViewer(user, rows)} nextCursor={nextCursor} />
    </ClientMessages>
  )
}
