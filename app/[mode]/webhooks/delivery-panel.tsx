'use client'

import { ArrowLeft } from 'lucide-react'
import Link from 'next/link'
import { useSearchParams } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { AttemptTimeline } from '#app/[mode]/webhooks/attempt-timeline.tsx'
import { AttemptView } from '#app/[mode]/webhooks/attempt-view.tsx'
import { useDelivery } from '#app/[mode]/webhooks/delivery-data.ts'
import { DeliveryState } from '#app/[mode]/webhooks/delivery-state.tsx'
import { ResendButton } from '#app/[mode]/webhooks/resend-button.tsx'
import { RevealDelivery } from '#app/[mode]/webhooks/reveal-delivery.tsx'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { DeliveryDetail } from '#lib/webhooks/schema.ts'

const WIDE_WINDOW_QUERY = '(min-width: 80rem)'

export function DeliveryPanel({ delivery: initialDelivery }: { delivery: DeliveryDetail }) {
  const t = useTranslations('deliveries')
  const { data, error } = useDelivery(initialDelivery)
  const [chosenNumber, setChosenNumber] = useState<number | null>(null)
  const [revealed, setRevealed] = useState<DeliveryDetail['attempts']>([])
  // A new attempt is masked until it is revealed too.
  const isRevealed = revealed.length > 0 && revealed.length === data.data.attempts.length
  const delivery = isRevealed ? { ...data.data, attempts: revealed, is_masked: false } : data.data
  const { attempts } = delivery
  const shownAttempt = attempts.find(({ number }) => number === chosenNumber) ?? attempts.at(-1)
  // On phones the panel replaces the list, so it starts at the top.
  useEffect(() => {
    if (!matchMedia(WIDE_WINDOW_QUERY).matches) scrollTo(0, 0)
  }, [])
  return (
    <div className="min-w-0 xl:sticky xl:top-6">
      <BackToList />
      <Sheet className="px-4 py-5 md:px-[22px] xl:max-h-[calc(100dvh-48px)] xl:overflow-y-auto">
        <div className="flex flex-wrap items-start justify-between gap-3">
          <div className="min-w-0">
            <h2 className="break-all font-mono font-semibold text-[15px] tracking-normal">
              {delivery.type}
            </h2>
            <div className="mt-1.5" role="status">
              <DeliveryState delivery={delivery} />
            </div>
          </div>
          <IfAllowed permission="webhooks:write">
            <ResendButton delivery={delivery} onSent={() => setChosenNumber(null)} />
          </IfAllowed>
        </div>
        <div className="mt-4 empty:hidden">
          <Problem error={error} />
        </div>
        <DeliveryFacts delivery={delivery} />
        {delivery.is_masked ? (
          <IfAllowed permission="documents:reveal">
            <RevealDelivery
              id={delivery.id}
              onRevealed={({ attempts: shown }) => setRevealed(shown)}
            />
          </IfAllowed>
        ) : null}
        {shownAttempt ? (
          <AttemptView
            key={shownAttempt.number}
            delivery={delivery}
            attempt={shownAttempt}
            previous={attempts.find(({ number }) => number === shownAttempt.number - 1)}
          />
        ) : (
          <p className="mt-5 rounded-control bg-sunk px-4 py-3 text-muted text-small">
            {t('noAttempt')}
          </p>
        )}
        <AttemptTimeline
          delivery={delivery}
          shownNumber={shownAttempt?.number ?? null}
          onChoose={setChosenNumber}
        />
      </Sheet>
    </div>
  )
}

function BackToList() {
  const t = useTranslations('deliveries')
  const { scope } = useApi()
  const query = useSearchParams().toString()
  return (
    <Link
      href={`/${scope.mode}/webhooks${query ? `?${query}` : ''}`}
      prefetch={false}
      className="mb-3 inline-flex min-h-9 items-center gap-1.5 font-medium text-muted text-small hover:text-ink xl:sr-only xl:focus:not-sr-only"
    >
      <ArrowLeft size={15} aria-hidden />
      {t('all')}
    </Link>
  )
}

function DeliveryFacts({ delivery }: { delivery: DeliveryDetail }) {
  const t = useTranslations('deliveries')
  const { scope } = useApi()
  const { type, subject_id, subject_reference, url, event_id } = delivery
  const room = type.startsWith('withdrawal') ? 'withdrawals' : 'charges'
  return (
    <dl className="mt-4 grid grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-1 text-small">
      <dt className="text-muted">{t(`about.${room}`)}</dt>
      <dd className="truncate">
        <Link
          href={`/${scope.mode}/${room}/${subject_id}`}
          prefetch={false}
          className="font-semibold text-accent hover:underline"
        >
          {subject_reference ?? subject_id}
        </Link>
      </dd>
      <dt className="text-muted">{t('receiver')}</dt>
      <dd className="line-clamp-4 break-all" title={url}>
        {url}
      </dd>
      <dt className="text-muted">webhook-id</dt>
      <dd className="break-all font-mono text-[12.5px] leading-[20px]">{event_id}</dd>
    </dl>
  )
}
