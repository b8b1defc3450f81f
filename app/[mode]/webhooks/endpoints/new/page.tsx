import { CircleAlert } from 'lucide-react'
import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { EndpointForm } from '#app/[mode]/webhooks/endpoints/endpoint-form.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Notice, Sheet } from '#components/ui/sheet.tsx'
import { env } from '#lib/core/settings.ts'
import { requirePermission } from '#lib/session/gate.ts'
import { listEndpoints } from '#lib/webhooks/endpoints.ts'
import { ENDPOINTS_MAX } from '#lib/webhooks/schema.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('endpoints'))('new') }
}

export default async function NewEndpointPage({ params }: { params: Promise<{ mode: string }> }) {
  const { account, mode } = await requirePermission(params, 'webhooks/endpoints/new')
  const [t, endpoints] = await Promise.all([
    getTranslations('endpoints'),
    listEndpoints(account.id, mode),
  ])
  const parent = { href: `/${mode}/webhooks/endpoints`, label: t('title') }
  return (
    <>
      <PageHead title={t('new')} parent={parent} />
      <Sheet className="max-w-[760px] px-4 py-5 md:px-7 md:py-6">
        {endpoints.length >= ENDPOINTS_MAX ? (
          <Notice tone="wait" icon={CircleAlert}>
            {t('full', { count: ENDPOINTS_MAX })}
          </Notice>
        ) : (
          <ClientMessages namespaces={['webhooks', 'endpoints']}>
            <EndpointForm isLoopbackAllowed={env().TROCO_ENV === 'local'} />
          </ClientMessages>
        )}
      </Sheet>
    </>
  )
}
