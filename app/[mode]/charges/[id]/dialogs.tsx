'use client'

import { useMutation } from '@tanstack/react-query'
import { Mail, MessageCircle, Share2 } from 'lucide-react'
import { useLocale, useTimeZone, useTranslations } from 'next-intl'
import { type SubmitEvent, useState } from 'react'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { mailUrl, whatsAppUrl, writeShareMessage } from '#app/[mode]/charges/[id]/share-message.ts'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useDraft, useForm } from '#components/form/form.tsx'
import { moneyText } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { CopyButton } from '#components/ui/copy.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Field, Select, TextArea } from '#components/ui/field.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
import { refundRequest } from '#lib/charges/refunds/schema.ts'
import { DESCRIPTION_LENGTH_MAX } from '#lib/charges/states.ts'
import { LANGUAGE_NAMES, LOCALES, type Locale } from '#lib/core/locale.ts'
import { formatReais, parseReais } from '#lib/core/money.ts'

export function CancelDialog({ onClose }: { onClose: () => void }) {
  const t = useTranslations('cancel')
  const api = useApi()
  const { timeline, refresh } = useLiveCharge()
  const cancel = useMutation({
    mutationFn: () =>
      api.post('/dashboard/charges/[id]/cancel', { params: { id: timeline.charge.id } }),
    onSuccess: onClose,
    // After a refusal, too: the charge may have been paid meanwhile.
    onSettled: () => void refresh(),
  })
  return (
    <Dialog onClose={onClose} title={t('title')} description={t('text')}>
      <div className="grid gap-4">
        <DialogActions
          action={t('confirm')}
          busy={t('busy')}
          isBusy={cancel.isPending}
          failure={cancel.error}
          isDestructive
          keep={t('keep')}
          onCancel={onClose}
          onConfirm={() => cancel.mutate()}
        />
      </div>
    </Dialog>
  )
}

interface DescriptionDialogProps {
  defaultValue: string
  /** Whether the charge was created without this text. */
  isUnsaved: boolean
  onClose: () => void
}

export function DescriptionDialog(props: DescriptionDialogProps) {
  const t = useTranslations('description')
  const { isUnsaved, onClose } = props
  return (
    <Dialog onClose={onClose} title={t('title')} description={isUnsaved && t('unsaved')}>
      <DescriptionForm {...props} />
    </Dialog>
  )
}

/** A component of its own: when it is mounted, its form is in the page, which the draft needs. */
function DescriptionForm({ defaultValue, onClose }: DescriptionDialogProps) {
  const t = useTranslations('description')
  const api = useApi()
  const { timeline, refresh } = useLiveCharge()
  const draft = useDraft()
  const save = useMutation({
    mutationFn: (description: string) =>
      api.post('/dashboard/charges/[id]/description', {
        params: { id: timeline.charge.id },
        body: { description },
      }),
    onSuccess: onClose,
    // After a refusal, too: the charge may have been paid meanwhile.
    onSettled: () => void refresh(),
  })
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    save.mutate(String(new FormData(event.currentTarget).get('description')).trim())
  }
  return (
    <form
      id={draft.id}
      method="post"
      onInput={draft.markEdited}
      onSubmit={submit}
      className="grid gap-4"
    >
      <TextArea
        label={t('label')}
        name="description"
        rows={4}
        maxLength={DESCRIPTION_LENGTH_MAX}
        defaultValue={defaultValue}
        hint={t('hint')}
      />
      <DialogActions
        action={t('save')}
        busy={t('saving')}
        isBusy={save.isPending}
        failure={save.error}
        onCancel={onClose}
      />
    </form>
  )
}

export function RefundDialog({ onClose }: { onClose: () => void }) {
  const t = useTranslations()
  const locale = useLocale()
  const api = useApi()
  const { timeline, refresh } = useLiveCharge()
  const { refundable } = timeline
  const [amount, setAmount] = useState<number | null>(refundable)
  const form = useForm({
    schema: refundRequest[api.scope.mode],
    read: data => ({
      amount: zeroIfInvalid(parseReais(String(data.get('amount')), locale), refundable),
      reason: String(data.get('reason')).trim() || undefined,
    }),
    async send(body, idempotencyKey) {
      try {
        await api.post('/transactions/[id]/refunds', {
          params: { id: timeline.charge.id },
          body,
          idempotencyKey,
        })
      } finally {
        // After a refusal, too: less may be left than the page shows.
        void refresh()
      }
      onClose()
    },
  })
  const left = moneyText(refundable, locale)
  const isAnyLeft = refundable > 0
  const remains = amount === null || amount > refundable ? null : refundable - amount
  return (
    <Dialog onClose={onClose} title={t('refund.title')} description={t('refund.text')}>
      <form {...form.props} className="grid gap-4">
        <MoneyField
          label={t('refund.amount')}
          name="amount"
          max={refundable}
          defaultValue={formatReais(refundable, locale)}
          onInput={event => setAmount(parseReais(event.currentTarget.value, locale))}
          problem={
            form.problems.amount
              ? t(isAnyLeft ? 'refund.amountWrong' : 'refund.none', { left })
              : null
          }
          hint={
            !isAnyLeft
              ? t('refund.none')
              : !remains || remains === refundable
                ? t('refund.left', { left })
                : t('refund.remains', { left: moneyText(remains, locale) })
          }
        />
        <Field
          label={t('refund.reason')}
          name="reason"
          note={t('ui.optional')}
          autoComplete="off"
          hint={t('refund.reasonHint')}
          problem={form.problems.reason ? t('refund.reasonWrong') : null}
        />
        <Problem error={form.failure} />
        <div className="mt-1 flex flex-wrap justify-end gap-3">
          <Button variant="quiet" onClick={onClose}>
            {t('ui.cancel')}
          </Button>
          <Button variant="primary" type="submit" aria-disabled={form.isBusy}>
            {form.isBusy
              ? t('refund.busy')
              : remains === null || !amount
                ? t('refund.confirmBare')
                : t('refund.confirm', { amount: moneyText(amount, locale) })}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** Returns zero, which is invalid, if the amount is missing or above `max`. */
function zeroIfInvalid(amount: number | null, max: number): number {
  return amount !== null && amount <= max ? amount : 0
}

interface ShareDialogProps {
  merchant: string
  onClose: () => void
}

/** Offers a message to the payer, which the member may edit before sending it. */
export function ShareDialog({ merchant, onClose }: ShareDialogProps) {
  const t = useTranslations('share')
  const timeZone = useTimeZone()
  const { charge, receipt_url: receiptUrl } = useLiveCharge().timeline
  // Pix is paid in Brazil, whatever the member reads.
  const [language, setLanguage] = useState<Locale>('pt-BR')
  const [edited, setEdited] = useState<string | null>(null)
  const { subject, text: written } = writeShareMessage(
    {
      mode: charge.mode,
      merchant,
      amount: charge.amount,
      description: charge.description,
      expiresAt: charge.expires_at,
      timeZone,
      paymentUrl: charge.payment_url,
      receiptUrl,
    },
    language,
  )
  const text = edited ?? written
  return (
    <Dialog onClose={onClose} title={t(receiptUrl ? 'receiptTitle' : 'title')}>
      <div className="grid gap-4">
        <Select
          label={t('language')}
          name="language"
          value={language}
          onChange={event => {
            setLanguage(event.currentTarget.value as Locale)
            setEdited(null)
          }}
        >
          {LOCALES.map(locale => (
            <option key={locale} value={locale}>
              {LANGUAGE_NAMES[locale]}
            </option>
          ))}
        </Select>
        <TextArea
          label={t('message')}
          name="message"
          rows={8}
          value={text}
          onChange={event => setEdited(event.currentTarget.value)}
        />
        <ShareButtons email={charge.client_email} subject={subject} text={text} />
      </div>
    </Dialog>
  )
}

interface ShareButtonsProps {
  email: string
  subject: string
  text: string
}

function ShareButtons({ email, subject, text }: ShareButtonsProps) {
  const t = useTranslations('share')
  const hasShareSheet = 'share' in navigator && matchMedia('(pointer: coarse)').matches
  return (
    <div className="grid gap-2.5 md:grid-cols-3">
      <a
        href={whatsAppUrl(text)}
        target="_blank"
        rel="noopener noreferrer"
        className={buttonClass('primary')}
      >
        <MessageCircle size={16} aria-hidden />
        WhatsApp
      </a>
      <a href={mailUrl(email, subject, text)} className={buttonClass('quiet')}>
        <Mail size={16} aria-hidden />
        {t('email')}
      </a>
      <CopyButton text={text} label={t('copy')} />
      {hasShareSheet ? (
        <Button
          variant="quiet"
          // The user may close the share sheet, which is no error.
          onClick={() => void navigator.share({ title: subject, text }).catch(() => {})}
        >
          <Share2 size={16} aria-hidden />
          {t('others')}
        </Button>
      ) : null}
    </div>
  )
}
