'use client'

import { CircleAlert, TriangleAlert } from 'lucide-react'
import { useLocale, useNow, useTranslations } from 'next-intl'
import { coverOf, type MoneyRead } from '#app/admin/banks/use-money.ts'
import { moneyText, useTimeText } from '#components/format/format.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import type { BankLine } from '#lib/operator/banks/schema.ts'

const DAY_MS = 86_400_000
/** The first of the days at which staff is warned. */
const ENDS_SOON_DAYS = 30

type Certified = Pick<BankLine, 'id' | 'name' | 'state' | 'certificate_ends_at'>

/** Warns of certificates that end within 30 days, or have ended. */
export function CertificateNotices({ banks }: { banks: Certified[] }) {
  const t = useTranslations('banks')
  const text = useTimeText()
  const now = useNow().getTime()
  return banks.map(({ id, name, state, certificate_ends_at: endsAt }) => {
    const leftMs = endsAt === null ? Number.POSITIVE_INFINITY : Date.parse(endsAt) - now
    if (state === 'closed' || endsAt === null || leftMs > ENDS_SOON_DAYS * DAY_MS) return null
    const isUrgent = leftMs <= 7 * DAY_MS
    const when = text(endsAt, { dateStyle: 'long', timeStyle: 'short' })
    return (
      <Notice
        key={id}
        tone={isUrgent ? 'bad' : 'wait'}
        icon={isUrgent ? CircleAlert : TriangleAlert}
      >
        {leftMs > 0 ? t('certificateEnds', { name, when }) : t('certificateEnded', { name })}
      </Notice>
    )
  })
}

interface ShortNoticesProps {
  banks: Pick<BankLine, 'id' | 'name'>[]
  money: Map<string, MoneyRead>
}

/** Warns of banks that hold less than the merchants own that pay out through them. */
export function ShortNotices({ banks, money }: ShortNoticesProps) {
  const t = useTranslations('banks')
  const locale = useLocale()
  return banks.map(({ id, name }) => {
    const read = money.get(id)?.money
    const cover = read ? coverOf(read) : null
    if (!read || read.bank === null || cover === null || cover >= 100) return null
    const { bank, owned } = read
    const amounts = {
      ...{ bank: moneyText(bank, locale), owned: moneyText(owned, locale) },
      missing: moneyText(owned - bank, locale),
    }
    return (
      <Notice key={id} tone="bad" icon={CircleAlert} role="status">
        {t('short', { name, ...amounts })}
      </Notice>
    )
  })
}
