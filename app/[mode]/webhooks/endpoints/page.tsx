import { Plus, Webhook } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { AutoRefresh } from '#app/[mode]/webhooks/endpoints/auto-refresh.tsx'
import {
  EndpointHealth,
  EndpointState,
  EndpointTrouble,
} from '#app/[mode]/webhooks/endpoints/endpoint-state.tsx'
import { RotateSecret } from '#app/[mode]/webhooks/endpoints/rotate-secret.tsx'
import { WebhookTabs } from '#app/[mode]/webhooks/webhook-tabs.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'
import { ROW_LINK } from '#components/ui/table.tsx'
import type { Mode } from '#lib/core/mode.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'
import { listEndpoints } from '#lib/webhooks/endpoints.ts'
import type { Endpoint } from '#lib/webhooks/schema.ts'
import { EVENT_TYPES } from '#lib/webhooks/states.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('endpoints'))('title') }
}

export default async function EndpointsPage({ params }: { params: Promise<{ mode: string }> }) {
  const { user, account, mode } = await requireMember(params)
  const [t, endpoints] = await Promise.all([
    getTranslations('endpoints'),
    listEndpoints(account.id, mode),
  ])
  const newEndpointLink = (variant: 'primary' | 'quiet') => (
    <IfAllowed permission="webhooks:write">
      <Link
        href={`/${mode}/webhooks/endpoints/new`}
        prefetch={false}
        className={buttonClass(variant)}
      >
        <Plus size={17} aria-hidden />
        {t('new')}
      </Link>
    </IfAllowed>
  )
  return (
    <ClientMessages namespaces={['webhooks', 'endpoints']}>
      <PageHead title={t('webhooks')}>
        {endpoints.length > 0 ? newEndpointLink('primary') : null}
      </PageHead>
      <div className="mb-4">
        <WebhookTabs current="endpoints" />
      </div>
      <h2 className="sr-only">{t('title')}</h2>
      {endpoints.length > 0 ? (
        <EndpointList endpoints={hideFromViewer(user, endpoints)} mode={mode} />
      ) : (
        <Sheet>
          <EmptyState icon={Webhook} title={t('none')} text={t('noneText')}>
            {newEndpointLink('primary')}
          </EmptyState>
        </Sheet>
      )}
      <Sheet className="mt-6 px-4 py-5 md:px-7 md:py-6">
        <h2 className="text-title">{t('accountSecret')}</h2>
        <p className="mt-1.5 mb-4 max-w-[68ch] text-muted text-small">{t('accountSecretText')}</p>
        <IfAllowed permission="secrets:write">
          <RotateSecret />
        </IfAllowed>
      </Sheet>
      <AutoRefresh />
    </ClientMessages>
  )
}

interface EndpointListProps {
  endpoints: Endpoint[]
  mode: Mode
}

function EndpointList({ endpoints, mode }: EndpointListProps) {
  const t = useTranslations('endpoints')
  return (
    <Sheet>
      <ul aria-label={t('title')}>
        {endpoints.map(endpoint => (
          <li
            key={endpoint.id}
            data-testid="endpoint-row"
            className="relative grid gap-x-6 gap-y-1.5 border-line px-4 py-4 not-first:border-t first:rounded-t-sheet last:rounded-b-sheet has-[a:hover]:bg-paper md:grid-cols-[minmax(0,1fr)_max-content] md:px-[18px]"
          >
            <Link
              href={`/${mode}/webhooks/endpoints/${endpoint.id}`}
              prefetch={false}
              title={endpoint.url}
              className={`min-w-0 font-semibold ${ROW_LINK}`}
            >
              <span className="line-clamp-2 break-all">{endpoint.url}</span>
            </Link>
            <div className="max-md:row-start-3 md:justify-self-end">
              <EndpointState endpoint={endpoint} />
            </div>
            <p className="min-w-0 text-muted text-small">
              {endpoint.event_types.length === EVENT_TYPES.length
                ? t('allEvents')
                : t('someEvents', { count: endpoint.event_types.length, of: EVENT_TYPES.length })}
              {' · '}
              <EndpointHealth health={endpoint.health} />
            </p>
            {endpoint.disabled_at || endpoint.failing_since ? (
              <p className="relative z-10 text-bad text-small md:justify-self-end">
                <EndpointTrouble endpoint={endpoint} />
              </p>
            ) : null}
          </li>
        ))}
      </ul>
    </Sheet>
  )
}
