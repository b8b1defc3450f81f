'use client'

import { useMutation } from '@tanstack/react-query'
import { ExternalLink, ReceiptText, Share2, Undo2 } from 'lucide-react'
import Link from 'next/link'
import { useSearchParams } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { useProblemText } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { IfAllowed, useHasPermission } from '#components/nav/permissions.tsx'
import { ChargeStateChip } from '#components/status/state-chips.tsx'
import { Button } from '#components/ui/button.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { CopyButton, CopyValue } from '#components/ui/copy.tsx'
import { Fact } from '#components/ui/details.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { ownReference, shownStatusOf } from '#lib/charges/states.ts'
import { formatTaxId } from '#lib/core/pix/tax-id.ts'

/** Ids of the charge in other systems. The end-to-end id exists only after the payment. */
export function Identifiers() {
  const t = useTranslations('charge')
  const { id, status, external_id, end_to_end_id } = useLiveCharge().timeline.charge
  const identifiers = [
    [t('reference'), ownReference(id, external_id)],
    [t('id'), id],
    [t('endToEnd'), end_to_end_id],
  ] as const
  return identifiers.map(([name, value]) =>
    value || (status === 'pending' && name === t('endToEnd')) ? (
      <Fact key={name} name={name}>
        {value ? <CopyValue name={name} value={value} /> : '—'}
      </Fact>
    ) : null,
  )
}

/** The payer whom the bank reports, who may differ from the person in the charge. */
export function PaidBy() {
  const t = useTranslations('charge')
  const { payer, status } = useLiveCharge().timeline.charge
  if (!payer && status !== 'pending' && status !== 'paid') return null
  const about = payer && [payer.document, payer.bank && t('paidByBank', { bank: payer.bank })]
  return (
    <Fact name={t('paidBy')}>
      <span className="break-words">{payer?.name ?? '—'}</span>
      <span className="block text-muted text-small">
        {about?.filter(Boolean).join(' · ') ??
          t(status === 'paid' ? 'paidByNobody' : 'paidByLater')}
      </span>
    </Fact>
  )
}

/** The payer's document, masked until a permitted member reveals it; each reveal is audited. */
export function PayerDocument() {
  const t = useTranslations('charge')
  const problemText = useProblemText()
  const api = useApi()
  const canReveal = useHasPermission()('documents:reveal')
  const { id, client_doc: maskedDocument } = useLiveCharge().timeline.charge
  const [revealed, setRevealed] = useState<string | null>(null)
  const reveal = useMutation({
    mutationFn: () => api.post('/dashboard/charges/[id]/document', { params: { id } }),
    onSuccess: ({ data }) => setRevealed(formatTaxId(data.document)),
  })
  return (
    <span className="flex flex-wrap items-center gap-x-3">
      <span className="font-mono text-[13px]">{revealed ?? maskedDocument}</span>
      {canReveal ? (
        <button
          type="button"
          onClick={() => (revealed ? setRevealed(null) : reveal.mutate())}
          className="min-h-6 font-semibold text-accent text-small hover:underline"
        >
          {revealed ? t('hide') : t('reveal')}
        </button>
      ) : null}
      <span role="status" className="text-bad text-small">
        {reveal.error ? problemText(reveal.error) : ''}
      </span>
    </span>
  )
}

const DescriptionDialog = lazyDialog(
  () => import('#app/[mode]/charges/[id]/dialogs.tsx'),
  'DescriptionDialog',
)

/** Shows what the payer reads, and changes it while the charge is pending. */
export function Description() {
  const t = useTranslations('description')
  const { status, description } = useLiveCharge().timeline.charge
  const canWrite = useHasPermission()('charges:write') && status === 'pending'
  // A text that the form of a new charge could not save.
  const unsaved = useSearchParams().get('description') ?? ''
  const [isOpen, setOpen] = useState(canWrite && !description && unsaved !== '')
  return (
    <Fact name={t('label')}>
      {description ? <span className="mr-3 break-words">{description}</span> : null}
      {description || canWrite ? null : '—'}
      {canWrite ? (
        <button
          type="button"
          onClick={() => setOpen(true)}
          className="min-h-6 font-semibold text-accent text-small hover:underline"
        >
          {t(description ? 'edit' : 'add')}
        </button>
      ) : null}
      {isOpen ? (
        <DescriptionDialog
          defaultValue={description ?? unsaved}
          isUnsaved={!description && unsaved !== ''}
          onClose={() => setOpen(false)}
        />
      ) : null}
    </Fact>
  )
}

const RefundDialog = lazyDialog(
  () => import('#app/[mode]/charges/[id]/dialogs.tsx'),
  'RefundDialog',
)

export function ChargeActions({ merchant }: { merchant: string }) {
  const t = useTranslations()
  const { timeline } = useLiveCharge()
  const { id, mode, status, payment_url } = timeline.charge
  return (
    <>
      {status === 'pending' ? <ShareButton merchant={merchant} /> : null}
      {status === 'pending' ? (
        <div className="flex">
          <CopyButton
            text={payment_url}
            label={t('charge.payerLink')}
            className="max-md:px-3 md:rounded-r-none md:border-r-0"
          />
          <a
            href={payment_url}
            target="_blank"
            rel="noopener"
            aria-label={t('charge.openPayerPage')}
            className={`${buttonClass('quiet')} rounded-l-none px-2.5 max-md:hidden`}
          >
            <ExternalLink size={16} aria-hidden />
          </a>
        </div>
      ) : null}
      {timeline.receipt_url ? (
        <Link
          href={`/${mode}/charges/${id}/receipt`}
          prefetch={false}
          className={buttonClass('quiet')}
        >
          <ReceiptText size={16} aria-hidden />
          {t('charge.receipt')}
        </Link>
      ) : null}
      <IfAllowed permission="refunds:write">
        <Refund isOffered={timeline.refundable > 0} />
      </IfAllowed>
    </>
  )
}

/** An open dialog stays when nothing is left to refund any more: it says so. */
function Refund({ isOffered }: { isOffered: boolean }) {
  const t = useTranslations('refund')
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      {isOffered ? (
        <Button variant="quiet" onClick={() => setOpen(true)}>
          <Undo2 size={16} aria-hidden />
          {t('action')}
        </Button>
      ) : null}
      {isOpen ? <RefundDialog onClose={() => setOpen(false)} /> : null}
    </>
  )
}

export function LiveChargeState() {
  const { charge } = useLiveCharge().timeline
  return (
    <span data-testid="charge-status">
      <ChargeStateChip status={shownStatusOf(charge)} />
    </span>
  )
}

const ShareDialog = lazyDialog(() => import('#app/[mode]/charges/[id]/dialogs.tsx'), 'ShareDialog')

/** Shares how to pay, or the receipt of a paid charge. */
export function ShareButton({ merchant }: { merchant: string }) {
  const t = useTranslations('share')
  const isPaid = useLiveCharge().timeline.receipt_url !== null
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button variant={isPaid ? 'quiet' : 'primary'} onClick={() => setOpen(true)}>
        <Share2 size={16} aria-hidden />
        {t(isPaid ? 'receiptAction' : 'action')}
      </Button>
      {isOpen ? <ShareDialog merchant={merchant} onClose={() => setOpen(false)} /> : null}
    </>
  )
}
