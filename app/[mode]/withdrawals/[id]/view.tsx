'use client'

import { useMutation, useSuspenseQuery } from '@tanstack/react-query'
import { Check, ReceiptText, X } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { useEffect, useRef, useState } from 'react'
import { WithdrawalTimeline } from '#app/[mode]/withdrawals/[id]/timeline.tsx'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { ExactTime, Money } from '#components/format/format.tsx'
import { IfAllowed, useHasPermission } from '#components/nav/permissions.tsx'
import { withdrawalQueries } from '#components/queries/withdrawals.ts'
import { SimulatedBank, type SimulatedDecision } from '#components/sandbox/simulated-bank.tsx'
import { WithdrawalState } from '#components/status/state-chips.tsx'
import { Button } from '#components/ui/button.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { CopyValue } from '#components/ui/copy.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { OwnCode, PageHead } from '#components/ui/page-head.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { formatPixKey, maskPixKey } from '#lib/core/pix/pix-key.ts'
import type { WithdrawalTimelineData } from '#lib/dashboard/schema.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'
import type { WithdrawalStatus } from '#lib/withdrawals/states.ts'

const POLL_FAST_MS = 1_500
/** Poll interval while people decide, and after the outcome until the webhook is delivered. */
const POLL_SLOW_MS = 5_000
const POLLS_MAX = 24

export function WithdrawalView({ id }: { id: string }) {
  const t = useTranslations('withdrawals')
  const api = useApi()
  const { data, error, refetch } = useSuspenseQuery({
    ...withdrawalQueries.timeline(api, id),
    refetchInterval: ({ state }) => {
      if (state.data?.approval) return POLL_SLOW_MS
      if (state.data?.withdrawal.status === 'pending') return POLL_FAST_MS
      return state.dataUpdateCount < POLLS_MAX && isDeliveryAwaited(state.data) && POLL_SLOW_MS
    },
  })
  const { withdrawal, dict_key, payee } = data
  return (
    <>
      <PageHead
        title={<Money cents={withdrawal.amount} />}
        parent={{ href: `/${withdrawal.mode}/withdrawals`, label: t('title') }}
        beside={<OwnCode reference={withdrawal.external_id} id={id} />}
        state={<WithdrawalState {...withdrawal} />}
      >
        {data.has_receipt ? (
          <Link
            href={`/${withdrawal.mode}/withdrawals/${id}/receipt`}
            prefetch={false}
            className={buttonClass('quiet')}
          >
            <ReceiptText size={16} aria-hidden />
            {t('receipt')}
          </Link>
        ) : null}
      </PageHead>
      <Announcement status={withdrawal.status} />
      {error ? (
        <div className="mb-4">
          <Problem error={error} />
        </div>
      ) : null}
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
        <Sheet className="px-4 py-5 md:px-7 md:py-6">
          <WithdrawalTimeline timeline={data} />
        </Sheet>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
          <Sheet className="px-4 py-5 md:px-7 md:py-6">
            <h2 className="mb-5 text-title">{t('details')}</h2>
            <WithdrawalFacts withdrawal={withdrawal} dictKey={dict_key} payee={payee} />
          </Sheet>
          {data.approval ? (
            <ApprovalCard withdrawalId={id} approval={data.approval} onDecided={() => refetch()} />
          ) : null}
          {withdrawal.mode === 'test' ? (
            <IfAllowed permission="transactions:write">
              <SimulateWithdrawal withdrawal={withdrawal} onDecided={() => refetch()} />
            </IfAllowed>
          ) : null}
        </div>
      </div>
    </>
  )
}

function isDeliveryAwaited(timeline: WithdrawalTimelineData | undefined): boolean {
  const deliveries = timeline?.steps.filter(step => step.what === 'told') ?? []
  return (
    timeline?.withdrawal.webhook_url !== null && !deliveries.some(({ problem }) => problem === null)
  )
}

function Announcement({ status }: { status: WithdrawalStatus }) {
  const t = useTranslations('withdrawal')
  const previousStatus = useRef(status)
  const [announced, setAnnounced] = useState<'approved' | 'rejected' | null>(null)
  useEffect(() => {
    if (previousStatus.current === 'pending' && status !== 'pending') setAnnounced(status)
    previousStatus.current = status
  }, [status])
  return (
    <p aria-live="polite" className="sr-only">
      {announced ? t(`ended.${announced}`) : ''}
    </p>
  )
}

interface PixKeyProps {
  withdrawal: WithdrawalRow
  dictKey: string
}

interface WithdrawalFactsProps extends PixKeyProps {
  payee: WithdrawalTimelineData['payee']
}

function WithdrawalFacts({ withdrawal, dictKey, payee }: WithdrawalFactsProps) {
  const t = useTranslations('withdrawals')
  return (
    <Facts>
      <Fact name={t('key')}>
        <PixKey withdrawal={withdrawal} dictKey={dictKey} />
      </Fact>
      {withdrawal.owner_doc ? (
        <Fact name={t('owner')}>
          <span className="break-words font-semibold">{withdrawal.owner_doc}</span>
          <span className="block text-muted text-small">{t('ownerText')}</span>
        </Fact>
      ) : null}
      {payee ? (
        <Fact name={t('payee')}>
          <span className="break-words font-semibold">{payee.name}</span>
          <span className="block text-muted text-small">
            {[payee.masked_doc, payee.bank].filter(Boolean).join(' · ')}
          </span>
        </Fact>
      ) : null}
      {withdrawal.memo ? (
        <Fact name={t('memo')}>
          <span className="break-words">{withdrawal.memo}</span>
        </Fact>
      ) : null}
      <Fact name={t('reference')}>
        {withdrawal.external_id ? (
          <CopyValue name={t('reference')} value={withdrawal.external_id} />
        ) : (
          '—'
        )}
      </Fact>
      <Fact name={t('created')}>
        <ExactTime at={withdrawal.created_at} format="dated" />
      </Fact>
      <Fact name={t('endToEnd')}>
        {withdrawal.end_to_end_id ? (
          <CopyValue name={t('endToEnd')} value={withdrawal.end_to_end_id} />
        ) : (
          '—'
        )}
      </Fact>
      {withdrawal.returned_amount > 0 ? (
        <Fact name={t('sentBack')}>
          <Money cents={withdrawal.returned_amount} />
        </Fact>
      ) : null}
      <Fact name={t('id')}>
        <CopyValue name={t('id')} value={withdrawal.id} />
      </Fact>
      {withdrawal.webhook_url ? (
        <Fact name={t('webhook')}>
          <CopyValue name={t('webhook')} value={withdrawal.webhook_url} />
        </Fact>
      ) : null}
    </Facts>
  )
}

function PixKey({ withdrawal: { pix_key_type: type }, dictKey }: PixKeyProps) {
  const t = useTranslations()
  const [isShown, setShown] = useState(false)
  return (
    <>
      <span className="flex flex-wrap items-center gap-x-3">
        <span className="break-all font-semibold">
          {isShown ? formatPixKey(type, dictKey) : maskPixKey(type, dictKey)}
        </span>
        <button
          type="button"
          aria-pressed={isShown}
          onClick={() => setShown(!isShown)}
          className="min-h-6 font-semibold text-accent text-small"
        >
          {isShown ? t('withdrawal.hide') : t('withdrawal.reveal')}
        </button>
      </span>
      <span className="block text-muted text-small">{t(`pixKey.${type}`)}</span>
    </>
  )
}

interface ApprovalCardProps {
  withdrawalId: string
  approval: NonNullable<WithdrawalTimelineData['approval']>
  onDecided: () => Promise<unknown>
}

/** Lets a second member approve or decline; the requester may only decline. */
function ApprovalCard({ withdrawalId, approval, onDecided }: ApprovalCardProps) {
  const t = useTranslations('approvals')
  const api = useApi()
  const canDecide = useHasPermission()('withdrawals:approve')
  const decision = useMutation({
    mutationFn: (name: 'approve' | 'decline') =>
      api.post(`/dashboard/withdrawals/[id]/${name}`, { params: { id: withdrawalId } }),
    onSettled: onDecided,
  })
  const text = !canDecide ? 'textOthers' : approval.can_approve ? 'text' : 'textOwn'
  return (
    <Sheet className="border-wait! px-4 py-5 md:px-7 md:py-6">
      <section aria-labelledby="approval">
        <h2 id="approval" className="text-title">
          {t('title')}
        </h2>
        <p className="mt-1 text-muted text-small">
          {approval.requester ? t('requester', { name: approval.requester }) : t('requesterNone')}{' '}
          {t(text)}
        </p>
        {canDecide ? (
          <div className="mt-4 flex flex-wrap gap-3">
            {approval.can_approve ? (
              <Button
                variant="primary"
                disabled={decision.isPending}
                onClick={() => decision.mutate('approve')}
              >
                <Check size={16} aria-hidden />
                {t('approve')}
              </Button>
            ) : null}
            <Button
              variant="quiet"
              disabled={decision.isPending}
              onClick={() => decision.mutate('decline')}
            >
              <X size={16} aria-hidden />
              {t('decline')}
            </Button>
          </div>
        ) : null}
        {decision.error ? (
          <div className="mt-4">
            <Problem error={decision.error} />
          </div>
        ) : null}
      </section>
    </Sheet>
  )
}

interface SimulateWithdrawalProps {
  withdrawal: WithdrawalRow
  onDecided: () => Promise<unknown>
}

/** Buttons that make the simulated bank settle, reject or return a withdrawal. Test mode only. */
function SimulateWithdrawal({ withdrawal, onDecided }: SimulateWithdrawalProps) {
  const t = useTranslations('simulate')
  const { id, pix_key } = withdrawal
  const decisions = listDecisions(withdrawal)
  const groups = decisions.length > 0 ? [{ id, decisions }] : []
  const hint = pix_key.toLowerCase().startsWith('hold@') ? null : t('withdrawalHint')
  return <SimulatedBank hint={hint} groups={groups} onDecided={onDecided} />
}

function listDecisions(withdrawal: WithdrawalRow): SimulatedDecision[] {
  const { id, status, awaiting, amount, returned_amount } = withdrawal
  const decide =
    (outcome: 'approved' | 'rejected' | 'returned'): SimulatedDecision['send'] =>
    (api, asked, idempotencyKey) =>
      api.post('/sandbox/withdrawals/[id]', {
        params: { id },
        body: { outcome, ...asked },
        idempotencyKey,
      })
  const left = amount - returned_amount
  if (status === 'approved' && left > 0)
    return [
      {
        name: 'return',
        send: decide('returned'),
        event: 'withdrawal.returned',
        asks: { amountMax: left },
      },
    ]
  if (status !== 'pending' || awaiting === 'approval') return []
  return [
    { name: 'approve', send: decide('approved'), event: 'withdrawal.approved' },
    {
      name: 'refuse',
      send: decide('rejected'),
      event: 'withdrawal.rejected',
      asks: 'reason',
    },
  ]
}
