import { Search } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { TraceSteps } from '#components/status/trace.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { EmptyState, Section, Sheet } from '#components/ui/sheet.tsx'
import type { SearchParams, Trace, TraceStep } from '#lib/dashboard/schema.ts'
import { findTraces } from '#lib/dashboard/trace.ts'
import { requireAdmin } from '#lib/session/gate.ts'

const ID_MAX = 64

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('adminTrace'))('title') }
}

interface TracePageProps {
  searchParams: Promise<SearchParams>
}

export default async function TracePage({ searchParams }: TracePageProps) {
  await requireAdmin()
  const { id = '' } = await searchParams
  const text = String(id).trim().slice(0, ID_MAX)
  const traces = text ? await findTraces(text) : []
  return (
    <ClientMessages namespaces={['adminTrace', 'trace']}>
      <TraceForm id={text} />
      <div className="grid gap-4">
        {traces.map(trace => (
          <TraceSection
            key={`${trace.account_id} ${trace.mode} ${trace.subject?.id}`}
            trace={trace}
          />
        ))}
        {traces.length === 0 ? <NoTrace isAsked={text !== ''} /> : null}
      </div>
    </ClientMessages>
  )
}

function TraceForm({ id }: { id: string }) {
  const t = useTranslations('adminTrace')
  return (
    <>
      <PageHead title={t('title')} />
      <form method="get" className="mb-6 flex max-w-[560px] items-end gap-2">
        <div className="min-w-0 flex-1">
          <Field
            label={t('id')}
            name="id"
            defaultValue={id}
            maxLength={ID_MAX}
            autoComplete="off"
            className="font-mono text-[13px]!"
          />
        </div>
        <Button
          variant="quiet"
          type="submit"
          formMethod="get"
          aria-label={t('find')}
          className="h-11"
        >
          <Search size={16} aria-hidden />
        </Button>
      </form>
    </>
  )
}

function NoTrace({ isAsked }: { isAsked: boolean }) {
  const t = useTranslations('adminTrace')
  return (
    <Sheet>
      <EmptyState
        icon={Search}
        title={t(isAsked ? 'nothing' : 'begin')}
        text={t(isAsked ? 'nothingText' : 'beginText')}
      />
    </Sheet>
  )
}

function TraceSection({ trace }: { trace: Trace }) {
  const t = useTranslations('adminTrace')
  const { account_id, mode, subject } = trace
  const hrefOf = ({ what, id }: TraceStep) =>
    what === 'charge' || what === 'refund' || what === 'withdrawal'
      ? `/admin/accounts/${account_id}?charge=${id}`
      : null
  return (
    <Section
      title={t(`kind.${subject?.kind ?? 'request'}`)}
      text={t(`mode.${mode}`)}
      aside={
        <Link
          href={`/admin/accounts/${account_id}`}
          prefetch={false}
          className="font-semibold text-accent text-small hover:underline"
        >
          {t('account')}
        </Link>
      }
    >
      <TraceSteps {...{ trace, hrefOf }} />
    </Section>
  )
}
