import type { Metadata } from 'next'
import Link from 'next/link'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import { hostAndPathOf } from '#app/[mode]/webhooks/delivery-row.tsx'
import {
  EndpointActions,
  TestEvent,
} from '#app/[mode]/webhooks/endpoints/[id]/endpoint-actions.tsx'
import { ReceiverCheck } from '#app/[mode]/webhooks/endpoints/[id]/receiver-check.tsx'
import { AutoRefresh } from '#app/[mode]/webhooks/endpoints/auto-refresh.tsx'
import { EndpointForm } from '#app/[mode]/webhooks/endpoints/endpoint-form.tsx'
import {
  EndpointHealth,
  EndpointState,
  EndpointTrouble,
} from '#app/[mode]/webhooks/endpoints/endpoint-state.tsx'
import { RotateSecret } from '#app/[mode]/webhooks/endpoints/rotate-secret.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { isTrocoError } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'
import { countMissed, readEndpoint } from '#lib/webhooks/endpoints.ts'

interface EndpointPageProps {
  params: Promise<{ mode: string; id: string }>
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('endpoints'))('one') }
}

export default async function EndpointPage({ params }: EndpointPageProps) {
  const { user, account, mode } = await requireMember(params)
  const { id } = await params
  const endpoint = hideFromViewer(user, await findEndpoint(account.id, mode, id))
  const isDisabled = endpoint.status === 'disabled'
  const [t, missedCount] = await Promise.all([
    getTranslations('endpoints'),
    isDisabled ? countMissed(account.id, mode, id) : 0,
  ])
  const parent = { href: `/${mode}/webhooks/endpoints`, label: t('title') }
  const hasTrouble = isDisabled || endpoint.failing_since !== null
  return (
    <ClientMessages namespaces={['webhooks', 'endpoints', 'deliveries', 'deliveryProblem']}>
      <PageHead
        title={
          <span className="line-clamp-2 break-all" title={endpoint.url}>
            {hostAndPathOf(endpoint.url)}
          </span>
        }
        parent={parent}
        state={<EndpointState endpoint={endpoint} />}
      />
      <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_minmax(0,0.8fr)]">
        <div className="grid min-w-0 gap-6">
          <Section title={t('status')}>
            <Facts>
              {hasTrouble ? (
                <Fact name={t('trouble')}>
                  <EndpointTrouble endpoint={endpoint} />
                </Fact>
              ) : null}
              {isDisabled ? (
                <Fact name={t('waiting')}>{t('missed', { count: missedCount })}</Fact>
              ) : null}
              <Fact name={t('lastDay')}>
                <EndpointHealth health={endpoint.health} />
              </Fact>
              <Fact name={t('created')}>
                <RelativeTime at={endpoint.created_at} />
              </Fact>
              <Fact name={t('deliveries')}>
                <Link
                  href={`/${mode}/webhooks?endpoint_id=${endpoint.id}`}
                  prefetch={false}
                  className="font-semibold text-accent hover:underline"
                >
                  {t('seeDeliveries')}
                </Link>
              </Fact>
              <IfAllowed permission="audit:read">
                <Fact name={t('history')}>
                  <Link
                    href={`/${mode}/settings/audit?target=${endpoint.id}`}
                    prefetch={false}
                    className="font-semibold text-accent hover:underline"
                  >
                    {t('seeHistory')}
                  </Link>
                </Fact>
              </IfAllowed>
            </Facts>
            <IfAllowed permission="webhooks:write">
              <div className="mt-5">
                <EndpointActions endpoint={endpoint} missedCount={missedCount} />
              </div>
            </IfAllowed>
          </Section>
          <IfAllowed permission="webhooks:write">
            <Section title={t('what')}>
              <EndpointForm endpoint={endpoint} isLoopbackAllowed={env().TROCO_ENV === 'local'} />
            </Section>
          </IfAllowed>
        </div>
        <IfAllowed permission="webhooks:write">
          <div className="grid min-w-0 gap-6">
            <Section title={t('test')} text={t(mode === 'live' ? 'testTextLive' : 'testText')}>
              <TestEvent endpoint={endpoint} />
            </Section>
            {mode === 'test' ? (
              <Section title={t('checkTitle')} text={t('checkText')}>
                <ReceiverCheck endpointId={endpoint.id} />
              </Section>
            ) : null}
            <Section title={t('secret')} text={t('secretText')}>
              <RotateSecret endpointId={endpoint.id} />
            </Section>
          </div>
        </IfAllowed>
      </div>
      <AutoRefresh />
    </ClientMessages>
  )
}

interface SectionProps {
  title: string
  text?: string
  children: ReactNode
}

function Section({ title, text, children }: SectionProps) {
  return (
    <Sheet className="min-w-0 px-4 py-5 md:px-7 md:py-6">
      <h2 className="text-title">{title}</h2>
      {text ? <p className="mt-1 text-muted text-small">{text}</p> : null}
      <div className="mt-4">{children}</div>
    </Sheet>
  )
}

async function findEndpoint(accountId: string, mode: Mode, id: string) {
  return readEndpoint(accountId, mode, id).catch(error => {
    if (isTrocoError(error) && error.code === 'endpoint_not_found') notFound()
    throw error
  })
}
