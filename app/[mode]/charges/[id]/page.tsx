import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { getLocale, getTranslations } from 'next-intl/server'
import { QRCodeSVG } from 'qrcode.react'
import { cache } from 'react'
import { ChargeActions, LiveChargeState } from '#app/[mode]/charges/[id]/charge-actions.tsx'
import { ChargeDetails } from '#app/[mode]/charges/[id]/details.tsx'
import { Disputes } from '#app/[mode]/charges/[id]/disputes.tsx'
import { LiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { PayPanel } from '#app/[mode]/charges/[id]/pay-panel.tsx'
import { Refunds } from '#app/[mode]/charges/[id]/refunds.tsx'
import { ChargeSandbox } from '#app/[mode]/charges/[id]/sandbox.tsx'
import { ChargeTimeline } from '#app/[mode]/charges/[id]/timeline.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { Money, moneyText } from '#components/format/format.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { isTrocoError } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { readChargeTimeline } from '#lib/dashboard/charge-timeline.ts'
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
  const [timeline, t, { account }] = await Promise.all([
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
      <LiveCharge key={charge.id} initialData={timeline}>
        <PageHead
          title={<Money cents={charge.amount} />}
          parent={parent}
          beside={
            <>
              <span className="max-w-[36ch] truncate font-mono text-[13px] max-md:max-w-[16ch]">
                {charge.external_id}
              </span>
              <LiveChargeState />
            </>
          }
        >
          <ChargeActions merchant={account.name} />
        </PageHead>
        <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 lg:grid-cols-[minmax(0,300px)_minmax(0,1fr)] xl:grid-cols-[minmax(0,380px)_minmax(0,1fr)]">
          <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
            <PayPanel merchant={account.name} qr={<ChargeQr code={charge.br_code} />} />
            <ChargeSandbox />
          </div>
          <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
            <Disputes />
            <ChargeTimeline />
            <Refunds />
            <ChargeDetails charge={charge} />
          </div>
        </div>
      </LiveCharge>
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
