'use client'

import { Mail, MessageCircle, Share2 } from 'lucide-react'
import { useTimeZone, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { mailUrl, whatsAppUrl, writeShareMessage } from '#app/[mode]/charges/[id]/share-message.ts'
import { Button, buttonClass } from '#components/ui/button.tsx'
import { CopyButton } from '#components/ui/copy.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Select, TextArea } from '#components/ui/field.tsx'
import { LANGUAGE_NAMES, LOCALES, type Locale } from '#lib/core/locale.ts'

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
      ...{ mode: charge.mode, merchant, amount: charge.amount, description: charge.description },
      ...{ expiresAt: charge.expires_at, timeZone, paymentUrl: charge.payment_url, receiptUrl },
    },
    language,
  )
  const text = edited ?? written
  return (
    <Dialog isOpen onClose={onClose} title={t(receiptUrl ? 'receiptTitle' : 'title')}>
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
