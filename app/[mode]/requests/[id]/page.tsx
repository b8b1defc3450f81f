import type { Metadata } from 'next'
import Link from 'next/link'
import { notFound } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import { RequestPath, RequestStatus } from '#app/[mode]/requests/status.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { callDurationText, ExactTime } from '#components/format/format.tsx'
import { TraceSteps } from '#components/status/trace.tsx'
import { CodeBlock } from '#components/ui/code.tsx'
import { CopyButton, CopyValue } from '#components/ui/copy.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Section } from '#components/ui/sheet.tsx'
import type { Mode } from '#lib/core/mode.ts'
import type { RequestDetail } from '#lib/dashboard/requests/schema.ts'
import { findRequest, namesOfMasked } from '#lib/dashboard/requests.ts'
import type { Trace, TraceStep } from '#lib/dashboard/schema.ts'
import { readRequestTraces } from '#lib/dashboard/trace.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'

/** Pages of the resource that a path ends with. */
const RESOURCE_PLACES: Record<string, string> = {
  '/transactions/{id}': 'charges',
  '/transactions/{id}/cancel': 'charges',
  '/transactions/{id}/refunds': 'charges',
  '/sandbox/transactions/{id}': 'charges',
  '/withdrawals/{id}': 'withdrawals',
  '/sandbox/withdrawals/{id}': 'withdrawals',
}

/** Pages of the steps of a trace. */
function pageOf({ what, id }: TraceStep, mode: Mode): string | null {
  if (what === 'charge') return `/${mode}/charges/${id}`
  if (what === 'withdrawal') return `/${mode}/withdrawals/${id}`
  return what === 'delivery' ? `/${mode}/webhooks/deliveries/${id}` : null
}

function isMoreThanRequest({ steps }: Trace): boolean {
  return steps.some(({ what }) => what !== 'request')
}

interface RequestPageProps {
  params: Promise<{ mode: string; id: string }>
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('requests'))('one') }
}

export default async function RequestPage({ params }: RequestPageProps) {
  const { account, mode, user } = await requireMember(params)
  const [t, tTrace, found] = await Promise.all([
    getTranslations('requests'),
    getTranslations('trace'),
    findRequest(account.id, mode, (await params).id),
  ])
  if (!found) notFound()
  const scope = { accountId: account.id, mode }
  const traces = hideFromViewer(user, await readRequestTraces(scope, found.request_id))
  const request = hideFromViewer(user, found)
  const { method, request_body, request_bytes, response_body, response_bytes } = request
  return (
    <ClientMessages namespaces={['requests', 'trace']}>
      <PageHead
        title={
          <>
            {method} <RequestPath request={request} />
          </>
        }
        parent={{ href: `/${mode}/requests`, label: t('title') }}
      />
      <div className="grid gap-4">
        <Section title={t('details')}>
          <RequestFacts request={request} />
        </Section>
        {traces.filter(isMoreThanRequest).map(trace => (
          <Section key={trace.subject?.id} title={tTrace('title')} text={tTrace('about')}>
            <TraceSteps
              trace={trace}
              requestId={request.request_id}
              hrefOf={step => pageOf(step, mode)}
            />
          </Section>
        ))}
        <div className="grid grid-cols-[minmax(0,1fr)] gap-4 xl:grid-cols-[repeat(2,minmax(0,1fr))] xl:items-start">
          <BodySection
            title={t('requestBody')}
            body={request_body}
            bytes={request_bytes ?? 0}
            masked={namesOfMasked(request_body)}
          />
          <BodySection
            title={t('responseBody')}
            body={response_body}
            bytes={response_bytes}
            masked={namesOfMasked(response_body)}
          />
        </div>
      </div>
    </ClientMessages>
  )
}

function RequestFacts({ request }: { request: RequestDetail }) {
  const t = useTranslations('requests')
  const locale = useLocale()
  const { mode, path, code, token_id, token_name, resource_id, request_id } = request
  const linkTo = (href: string, text: ReactNode) => (
    <Link href={href} prefetch={false} className="wrap-anywhere text-accent hover:underline">
      {text}
    </Link>
  )
  const filterBy = (name: string, value: string) =>
    `/${mode}/requests?${new URLSearchParams({ [name]: value })}`
  const place = RESOURCE_PLACES[path]
  return (
    <Facts>
      <Fact name={t('status')}>
        <RequestStatus request={{ ...request, code: null }} />
      </Fact>
      {code ? (
        <Fact name={t('code')}>
          {linkTo(`/docs/errors#${code}`, <span className="font-mono text-[13px]">{code}</span>)}
        </Fact>
      ) : null}
      <Fact name={t('time')}>
        <ExactTime at={request.created_at} format="millisecond" />
      </Fact>
      <Fact name={t('duration')}>{callDurationText(request.duration_ms, locale)}</Fact>
      <Fact name={t('token_id')}>{linkTo(filterBy('token_id', token_id), token_name)}</Fact>
      <Fact name={t('path')}>
        {linkTo(filterBy('path', path), <span className="font-mono text-[13px]">{path}</span>)}
      </Fact>
      {resource_id ? (
        <Fact name={t('resource')}>
          {place ? (
            linkTo(`/${mode}/${place}/${resource_id}`, resource_id)
          ) : (
            <CopyValue name={t('resource')} value={resource_id} />
          )}
        </Fact>
      ) : null}
      <Fact name={t('requestId')}>
        <CopyValue name={t('requestId')} value={request_id} />
      </Fact>
    </Facts>
  )
}

interface BodySectionProps {
  title: string
  body: unknown
  bytes: number
  /** Names of the fields whose values are masked. */
  masked: string[]
}

/** Shows a stored body, or a sentence that says why none is stored. */
function BodySection({ title, body, bytes, masked }: BodySectionProps) {
  const t = useTranslations('requests')
  if (body === null) {
    return (
      <Section title={title}>
        <p className="text-muted">{bytes > 0 ? t('notStored', { bytes }) : t('noBody')}</p>
      </Section>
    )
  }
  const text = JSON.stringify(body, null, 2)
  return (
    <Section
      title={title}
      aside={<CopyButton text={text} label={t('copy')} variant="plain" className="text-small" />}
    >
      <p className="-mt-2 text-muted text-small">
        {masked.length > 0 ? t('masked', { names: masked.join(', ') }) : t('nothingMasked')}
      </p>
      <CodeBlock label={title} text={text} />
    </Section>
  )
}
