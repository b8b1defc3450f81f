import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { LiveHealth } from '#app/admin/health/live-health.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { operatorQueries } from '#components/queries/operator.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { readHealth } from '#lib/operator/health.ts'
import { requireAdmin } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('health'))('title') }
}

export default async function HealthPage() {
  const user = await requireAdmin()
  const [t, health] = await Promise.all([getTranslations('health'), readHealth()])
  return (
    <ClientMessages namespaces={['health', 'deliveryProblem']}>
      <PageHead title={t('title')} />
      <p className="-mt-4 mb-6 text-muted text-small">{t('text')}</p>
      <Prefetched seeds={[seed(operatorQueries.health(readerFor('test', user, null)), health)]}>
        <LiveHealth />
      </Prefetched>
    </ClientMessages>
  )
}
