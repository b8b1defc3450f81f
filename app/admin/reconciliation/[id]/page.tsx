import { Undo2 } from 'lucide-react'
import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { cache } from 'react'
import { OrderEndingSection } from '#app/admin/ending.tsx'
import {
  Corrections,
  ProposeCorrection,
  ResolveForm,
} from '#app/admin/reconciliation/[id]/resolve-form.tsx'
import { BankSide, OurSide } from '#app/admin/reconciliation/[id]/sides.tsx'
import { ItemState, useConnectionName } from '#app/admin/reconciliation/names.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { ExactTime, Money } from '#components/format/format.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Notice, Section } from '#components/ui/sheet.tsx'
import { readItem } from '#lib/operator/differences/evidence.ts'
import type { DifferenceDetail } from '#lib/operator/differences/schema.ts'
import { readEnding } from '#lib/operator/stuck.ts'
import { requireAdmin } from '#lib/session/gate.ts'

interface ItemPageProps {
  params: Promise<{ id: string }>
}

/** Cached per request, because the metadata and the page both read the item. */
const findItem = cache(
  async (id: string, adminId: string) => (await readItem(id, adminId)) ?? notFound(),
)

async function kindName(kind: string): Promise<string> {
  const t = await getTranslations('differences')
  return t.has(`kind.${kind}` as never) ? t(`kind.${kind}` as never) : kind
}

export async function generateMetadata({ params }: ItemPageProps): Promise<Metadata> {
  const { id: adminId } = await requireAdmin()
  return { title: await kindName((await findItem((await params).id, adminId)).kind) }
}

export default async function ItemPage({ params }: ItemPageProps) {
  const { id: adminId } = await requireAdmin()
  const item = await findItem((await params).id, adminId)
  const [t, title, ending] = await Promise.all([
    getTranslations('differences'),
    kindName(item.kind),
    readEnding(findOrderId(item), adminId),
  ])
  // A standing proposal is shown first: it needs a second admin.
  const isProposed = item.corrections[0]?.booked_at === null
  return (
    <ClientMessages
      namespaces={['differences', 'ending', 'corrections', 'adminDeed', 'chargeStatus']}
    >
      <PageHead
        title={title}
        parent={{ href: '/admin/reconciliation', label: t('title') }}
        state={<ItemState item={item} />}
      />
      <Summary item={item} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 lg:grid-cols-2">
        <Section title={t('bankSide')}>
          <BankSide item={item} />
        </Section>
        <Section title={t('ourSide')}>
          <OurSide item={item} />
        </Section>
      </div>
      <div className="mt-6 grid gap-6">
        {isProposed ? <Correcting item={item} /> : null}
        <Decision item={item} />
        {isProposed ? null : <Correcting item={item} />}
        {ending ? <OrderEndingSection ending={ending} /> : null}
      </div>
    </ClientMessages>
  )
}

/** Entries of two admins, and the form for another one. */
async function Correcting({ item }: { item: DifferenceDetail }) {
  const t = await getTranslations('corrections')
  const { id, corrections, correction_terms: terms } = item
  return (
    <>
      {corrections.length > 0 ? (
        <Section title={t(corrections[0]?.booked_at ? 'booked' : 'proposed')}>
          <Corrections itemId={id} corrections={corrections} />
        </Section>
      ) : null}
      {terms ? (
        <Section title={t('title')}>
          <ProposeCorrection item={item} />
        </Section>
      ) : null}
    </>
  )
}

/** The latest order that gives the money back, or the one that the item is about. */
function findOrderId({ evidence: { returns, bank, noted } }: DifferenceDetail): string {
  const facts = { ...bank, ...noted }
  return (
    returns.at(-1)?.id ?? String(facts.withdrawal_id ?? facts.refund_id ?? facts.order_id ?? '')
  )
}

function Summary({ item }: { item: DifferenceDetail }) {
  const t = useTranslations('differences')
  const connectionName = useConnectionName()
  return (
    <p className="-mt-4 mb-5 text-muted">
      {item.amount === null ? null : (
        <>
          <span className="font-semibold text-ink">
            <Money cents={item.amount} />
          </span>
          {' · '}
        </>
      )}
      {connectionName(item.connection.name)} · {t(`mode.${item.mode}`)} ·{' '}
      <ExactTime at={item.created_at} format="dated" />
    </p>
  )
}

async function Decision({ item }: { item: DifferenceDetail }) {
  const t = await getTranslations('differences')
  if (item.resolved_at)
    return (
      <Section title={t('settled')}>
        <Facts>
          <Fact name={t('column.resolution')}>
            <ItemState item={item} />
          </Fact>
          <Fact name={t('by')}>{item.resolved_by ?? t('host')}</Fact>
          <Fact name={t('when')}>
            <ExactTime at={item.resolved_at} format="dated" />
          </Fact>
          {item.reason ? <Fact name={t('reason')}>{item.reason}</Fact> : null}
        </Facts>
      </Section>
    )
  if (item.is_giving_back)
    return (
      <Notice tone="wait" icon={Undo2}>
        {t('givingBack')}
      </Notice>
    )
  return (
    <Section title={t('decide')}>
      <ResolveForm item={item} />
    </Section>
  )
}
