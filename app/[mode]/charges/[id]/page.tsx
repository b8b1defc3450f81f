import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { getLocale, getTranslations } from 'next-intl/server'
import { QRCodeSVG } from 'qrcode.react'
import { cache } from 'react'
import { LiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import {
  ChargeActions,
  Description,
  Identifiers,
  LiveChargeState,
  PaidBy,
  PayerDocument,
} from '#app/[mode]/charges/[id]/live-facts.tsx'
import { ChargeSandbox, PayPanel } from '#app/[mode]/charges/[id]/pay-panel.tsx'
import { Disputes, Refunds } from '#app/[mode]/charges/[id]/refunds-and-disputes.tsx'
import { ChargeTimeline } from '#app/[mode]/charges/[id]/timeline.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { Money, moneyText } from '#components/format/format.tsx'
import { chargeQueries } from '#components/queries/charges.ts'
import { CopyValue } from '#components/ui/copy.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { OwnCode, PageHead } from '#components/ui/page-head.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { ownReference } from '#lib/charges/states.ts'
import { isTrocoError } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { ChargeTimelineData } from '#lib/dashboard/schema.ts'
import { readChargeTimeline } from '#lib/dashboard/timeline.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'

interface PageProps {
  params: Promise<{ mode: string; id: string }>
}

/** Cached per request, because the metadata and the page both read the timeline. */
const findTimeline = cache(async (accountId: string, mode: Mode, id: string) =>
  readChargeTimeline(accountId, mode, id).catch(error => {
    if (isTrocoError(error)) return notFound()
    throw error
  }),
)

async function loadTimeline(params: PageProps['params']) {
  const { account, mode, user } = await requireMember(params)
  const id = hideFromViewer(user, decodeURIComponent((await params).id))
  return hideFromViewer(user, await findTimeline(account.id, mode, id))
}

export async function generateMetadata({ params }: PageProps): Promise<Metadata> {
  const [{ charge }, t, locale] = await Promise.all([
    loadTimeline(params),
    getTranslations('charge'),
    getLocale(),
  ])
  return { title: t('title', { amount: moneyText(charge.amount, locale) }) }
}

export default async function ChargePage({ params }: PageProps) {
  const [timeline, t, { account, user }] = await Promise.all([
    loadTimeline(params),
    getTranslations(),
    requireMember(params),
  ])
  const { charge } = timeline
  const parent = { href: `/${charge.mode}/charges`, label: t('nav.place.charges') }
  return (
    <ClientMessages
      namespaces={[
        'charge',
        'chargeTimeline',
        'chargeStatus',
        'refund',
        'cancel',
        'share',
        'description',
        'rejection',
        'deliveryProblem',
        'disputes',
        'simulate',
      ]}
    >
      <Prefetched
        seeds={[
          seed(chargeQueries.timeline(readerFor(charge.mode, user, account), charge.id), timeline),
        ]}
      >
        <LiveCharge key={charge.id} id={charge.id}>
          <PageHead
            title={<Money cents={charge.amount} />}
            parent={parent}
            beside={
              <OwnCode reference={ownReference(charge.id, charge.external_id)} id={charge.id} />
            }
            state={<LiveChargeState />}
          >
            <ChargeActions merchant={account.name} />
          </PageHead>
          <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 lg:grid-cols-[minmax(0,300px)_minmax(0,1fr)] xl:grid-cols-[minmax(0,380px)_minmax(0,1fr)]">
            <PayPanel merchant={account.name} qr={<ChargeQr code={charge.br_code} />} />
            {/* What grows with a payment stands last, so that nothing in view moves. */}
            <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
              <Disputes />
              <ChargeDetails charge={charge} />
              <Refunds />
              <ChargeTimeline />
              <ChargeSandbox />
            </div>
          </div>
        </LiveCharge>
      </Prefetched>
    </ClientMessages>
  )
}

/** Size in CSS pixels: cameras read smaller codes badly from a screen. */
const QR_SIZE_PX = 240
/** Margin around the QR code in modules, as ISO/IEC 18004 requires. */
const QUIET_ZONE_MODULES = 4

/** Dark on white in both themes: some cameras cannot read inverted codes. */
function ChargeQr({ code }: { code: string }) {
  const t = useTranslations('charge')
  return (
    <div className="rounded-control border border-line bg-[#ffffff] p-1">
      <QRCodeSVG
        role="img"
        aria-label={t('qr')}
        data-testid="qr-code"
        value={code}
        level="M"
        size={QR_SIZE_PX}
        marginSize={QUIET_ZONE_MODULES}
        fgColor="#17211D"
        bgColor="#FFFFFF"
        className="mx-auto block h-auto w-full min-w-[240px] max-w-[360px]"
      />
    </div>
  )
}

function ChargeDetails({ charge }: Pick<ChargeTimelineData, 'charge'>) {
  const t = useTranslations('charge')
  const { client_name, client_email, client_phone, webhook_url, items, utms, metadata } = charge
  return (
    <Sheet className="px-5 py-5 md:px-6 md:py-6">
      <h2 className="mb-4 text-title">{t('details')}</h2>
      <Facts>
        {client_name ? (
          <>
            <Fact name={t('payer')}>{client_name}</Fact>
            <Fact name={t('document')}>
              <PayerDocument />
            </Fact>
          </>
        ) : null}
        {client_email ? <Fact name={t('email')}>{client_email}</Fact> : null}
        <PaidBy />
        <Description />
        {client_phone ? <Fact name={t('phone')}>{client_phone}</Fact> : null}
        {items && items.length > 0 ? (
          <Fact name={t('items')}>
            <Items items={items} />
          </Fact>
        ) : null}
        <KeyValues name={t('campaign')} values={utms} />
        <KeyValues name={t('metadata')} values={metadata} />
        {webhook_url ? (
          <Fact name={t('webhook')}>
            <CopyValue name={t('webhook')} value={webhook_url} />
          </Fact>
        ) : null}
        <Identifiers />
      </Facts>
    </Sheet>
  )
}

function Items({ items }: { items: Record<string, unknown>[] }) {
  const t = useTranslations('charge')
  const locale = useLocale()
  return (
    <ul>
      {items.map(({ name, quantity, price }, index) => {
        const itemName = typeof name === 'string' && name.trim() ? name : t('itemUnnamed')
        const line = quantity
          ? t('itemLine', { quantity: String(quantity), name: itemName })
          : itemName
        const cents = Math.round(Number(String(price ?? '').replace(',', '.')))
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: items have no id and never change
          <li key={index}>
            {line}
            {price && Number.isFinite(cents) ? (
              <span className="text-muted"> · {moneyText(cents, locale)}</span>
            ) : null}
          </li>
        )
      })}
    </ul>
  )
}

interface KeyValuesProps {
  name: string
  values: Record<string, unknown> | null
}

function KeyValues({ name, values }: KeyValuesProps) {
  const entries = Object.entries(values ?? {})
  if (entries.length === 0) return null
  return (
    <Fact name={name}>
      <ul className="grid gap-0.5 font-mono text-[13px] leading-[1.7]">
        {entries.map(([key, value]) => (
          <li key={key} className="break-all">
            <span className="text-muted">{key}=</span>
            {typeof value === 'string' ? value : JSON.stringify(value)}
          </li>
        ))}
      </ul>
    </Fact>
  )
}
