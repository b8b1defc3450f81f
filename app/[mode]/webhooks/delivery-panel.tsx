'use client'

import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { ArrowLeft, Check, Clock, RefreshCw, Send, X } from 'lucide-react'
import Link from 'next/link'
import { useSearchParams } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { useAttemptText } from '#app/[mode]/webhooks/attempt-text.ts'
import { AttemptView } from '#app/[mode]/webhooks/attempt-view.tsx'
import { DeliveryState } from '#app/[mode]/webhooks/delivery-state.tsx'
import { WebhookProblem } from '#app/[mode]/webhooks/webhook-problem.tsx'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { ExactTime, useDurations, useSecondsTo } from '#components/format/format.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { deliveryQueries } from '#components/queries/deliveries.ts'
import { Button } from '#components/ui/button.tsx'
import { Timeline, TimelineStep } from '#components/ui/details.tsx'
import { LazyDialog, LazyDialogActions } from '#components/ui/lazy-dialog.ts'
import { Sheet } from '#components/ui/sheet.tsx'
import type { DeliveryDetail } from '#lib/webhooks/schema.ts'

const WIDE_WINDOW_QUERY = '(min-width: 80rem)'

export function DeliveryPanel({ id }: { id: string }) {
  const t = useTranslations('deliveries')
  const { data, error } = useSuspenseQuery(deliveryQueries.one(useApi(), id))
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
  const list = type.startsWith('withdrawal') ? 'withdrawals' : 'charges'
  return (
    <dl className="mt-4 grid grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-1 text-small">
      <dt className="text-muted">{t(`about.${list}`)}</dt>
      <dd className="truncate">
        <Link
          href={`/${scope.mode}/${list}/${subject_id}`}
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

interface AttemptTimelineProps {
  delivery: DeliveryDetail
  shownNumber: number | null
  onChoose: (number: number) => void
}

function AttemptTimeline({ delivery, shownNumber, onChoose }: AttemptTimelineProps) {
  const t = useTranslations('deliveries')
  const { brief } = useAttemptText()
  const { callDuration } = useDurations()
  const { attempts, is_under_way, next_attempt_at: nextAttemptAt, later_pauses_s } = delivery
  const number = attempts.length + 1
  return (
    <section className="mt-5">
      <h3 className="mb-3.5 font-semibold text-small">{t('attempts')}</h3>
      <Timeline label={t('attempts')}>
        {attempts.map(attempt => {
          const { problem } = attempt
          return (
            <TimelineStep
              key={attempt.number}
              tone={problem === null ? 'ok' : 'off'}
              icon={problem === null ? Check : X}
              aside={attempt.number}
              title={
                <button
                  type="button"
                  aria-pressed={attempt.number === shownNumber}
                  onClick={() => onChoose(attempt.number)}
                  className="min-h-6 text-left hover:underline aria-pressed:text-accent"
                >
                  {brief(attempt)}
                </button>
              }
            >
              <ExactTime at={attempt.at} format="second" /> · {callDuration(attempt.duration_ms)}
            </TimelineStep>
          )
        })}
        {is_under_way ? (
          <TimelineStep tone="wait" icon={Send} title={t('status.sending')} aside={number} />
        ) : nextAttemptAt ? (
          <NextAttemptStep at={nextAttemptAt} number={number} laterPausesS={later_pauses_s} />
        ) : null}
      </Timeline>
    </section>
  )
}

interface NextAttemptStepProps {
  at: string
  number: number
  laterPausesS: number[]
}

function NextAttemptStep({ at, number, laterPausesS }: NextAttemptStepProps) {
  const t = useTranslations('deliveries')
  const { remaining, delay } = useDurations()
  const seconds = useSecondsTo(at)
  const pauses = laterPausesS.map(delay).join(', ')
  return (
    <TimelineStep
      tone="wait"
      icon={Clock}
      aside={number}
      title={seconds > 0 ? t('nextAttemptIn', { time: remaining(seconds) }) : t('nextAttemptNow')}
    >
      {pauses ? t('thenAfter', { pauses }) : t('lastAttempt')}
    </TimelineStep>
  )
}

interface ResendButtonProps {
  delivery: DeliveryDetail
  onSent: () => void
}

/** Resends a delivery, with the same bytes. Asks for confirmation if it was already delivered. */
function ResendButton({ delivery, onSent }: ResendButtonProps) {
  const t = useTranslations('deliveries')
  const api = useApi()
  const queryClient = useQueryClient()
  const [isConfirming, setConfirming] = useState(false)
  const resend = useMutation({
    mutationFn: (idempotencyKey: string) =>
      api.post('/webhooks/deliveries/[id]/resend', {
        params: { id: delivery.id },
        idempotencyKey,
      }),
    onSuccess: async () => {
      onSent()
      await queryClient.invalidateQueries({ queryKey: deliveryQueries.all(api) })
    },
    onSettled: () => setConfirming(false),
  })
  const send = () => resend.mutate(crypto.randomUUID())
  const isDelivered = delivery.status === 'delivered'
  return (
    <>
      <Button
        variant="primary"
        disabled={resend.isPending || delivery.is_under_way}
        onClick={isDelivered ? () => setConfirming(true) : send}
        className="disabled:opacity-60"
      >
        <RefreshCw size={16} aria-hidden />
        {t('resend')}
      </Button>
      {resend.error ? (
        <div className="w-full">
          <WebhookProblem error={resend.error} />
        </div>
      ) : null}
      {isConfirming ? (
        <LazyDialog
          onClose={() => setConfirming(false)}
          title={t('resendTitle')}
          description={t('resendText')}
        >
          <LazyDialogActions
            action={t('resendAnyway')}
            isBusy={resend.isPending}
            onCancel={() => setConfirming(false)}
            onConfirm={send}
          />
        </LazyDialog>
      ) : null}
    </>
  )
}

interface RevealDeliveryProps {
  id: string
  onRevealed: (delivery: DeliveryDetail) => void
}

/** Shows the attempts in full; each time is audited. */
function RevealDelivery({ id, onRevealed }: RevealDeliveryProps) {
  const t = useTranslations('deliveries')
  const api = useApi()
  const reveal = useMutation({
    mutationFn: () => api.post('/dashboard/webhooks/deliveries/[id]/document', { params: { id } }),
    onSuccess: ({ data }) => onRevealed(data),
  })
  return (
    <div className="mt-4">
      <button
        type="button"
        disabled={reveal.isPending}
        onClick={() => reveal.mutate()}
        className="min-h-6 font-semibold text-accent text-small hover:underline"
      >
        {t('revealDocument')}
      </button>
      <p className="text-muted text-small">{t('revealDocumentText')}</p>
      <Problem error={reveal.error} />
    </div>
  )
}
