'use client'

import { useMutation, useQueries } from '@tanstack/react-query'
import { CircleAlert, TriangleAlert } from 'lucide-react'
import { useLocale, useNow, useTranslations } from 'next-intl'
import { useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { MOMENT_FORMAT, moneyText, useTimeText } from '#components/format/format.tsx'
import { operatorQueries } from '#components/queries/operator.ts'
import { Button } from '#components/ui/button.tsx'
import { LazyDialog, LazyDialogActions } from '#components/ui/lazy-dialog.ts'
import { Notice, Section } from '#components/ui/sheet.tsx'
import type {
  BankDetail,
  BankLine,
  BankMoney,
  NoticesRegistered,
} from '#lib/operator/banks/schema.ts'

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
    const when = text(endsAt, MOMENT_FORMAT)
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
      bank: moneyText(bank, locale),
      owned: moneyText(owned, locale),
      missing: moneyText(owned - bank, locale),
    }
    return (
      <Notice key={id} tone="bad" icon={CircleAlert} role="status">
        {t('short', { name, ...amounts })}
      </Notice>
    )
  })
}

export interface MoneyRead {
  money: BankMoney | null
  isPending: boolean
}

/** Asks each bank that can be called for its balance, after the page is shown. */
export function useBankMoney(banks: Pick<BankLine, 'id' | 'state'>[]): Map<string, MoneyRead> {
  const api = useApi()
  const asked = banks.filter(({ state }) => state !== 'closed' && state !== 'unserved')
  const results = useQueries({
    queries: asked.map(({ id }) => operatorQueries.bankMoney(api, id)),
  })
  return new Map(
    asked.map(({ id }, index) => {
      const { data = null, isPending = false } = results[index] ?? {}
      return [id, { money: data, isPending }]
    }),
  )
}

/** Percent of what merchants own that is there; null if they own nothing, or the balance is unknown. */
export function coverOf({ bank, owned }: Pick<BankMoney, 'bank' | 'owned'>): number | null {
  return bank === null || owned === 0 ? null : Math.floor((bank / owned) * 100)
}

/** Registers the address for notices; that of another system is replaced only after a confirmation. */
export function NoticesSection({ bank }: { bank: BankDetail }) {
  const t = useTranslations('banks')
  const api = useApi()
  const [registered, setRegistered] = useState<NoticesRegistered | null>(null)
  const [isReplacing, setReplacing] = useState(false)
  const registration = useMutation({
    mutationFn: async (replaces: boolean) => {
      const request = { params: { id: bank.id }, body: { replaces_foreign: replaces } }
      return (await api.post('/admin/banks/[id]/notices', request)).data
    },
    onSuccess: data => {
      setRegistered(data)
      setReplacing(false)
    },
  })
  const { mutate: run, isPending: isBusy, error: failure } = registration
  const foreign = registered?.keys.filter(({ state }) => state === 'foreign') ?? []
  if (!bank.can.register_notices)
    return (
      <Section title={t('notices.title')} text={t('notices.text')}>
        <p className="text-muted">{t('notices.unavailable')}</p>
      </Section>
    )
  return (
    <Section title={t('notices.title')} text={t('notices.text')}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        {registered ? <Registered registered={registered} /> : null}
        {isReplacing ? null : <Problem error={failure} />}
        <div className="flex flex-wrap gap-3">
          <Button variant="quiet" onClick={() => run(false)} disabled={isBusy}>
            {isBusy ? t('busy') : t('notices.register')}
          </Button>
          {foreign.length > 0 ? (
            <Button variant="quiet" onClick={() => setReplacing(true)} className="text-bad!">
              {t('notices.replace')}
            </Button>
          ) : null}
        </div>
      </div>
      {isReplacing ? (
        <LazyDialog
          onClose={() => setReplacing(false)}
          title={t('notices.replaceTitle')}
          description={t('notices.replaceText', {
            host: foreign.map(({ host }) => host ?? '').join(', '),
          })}
        >
          <div className="grid gap-5">
            <LazyDialogActions
              action={t('notices.replace')}
              busy={t('busy')}
              isBusy={isBusy}
              failure={failure}
              isDestructive
              onCancel={() => setReplacing(false)}
              onConfirm={() => run(true)}
            />
          </div>
        </LazyDialog>
      ) : null}
    </Section>
  )
}

function Registered({ registered: { keys, refusal } }: { registered: NoticesRegistered }) {
  const t = useTranslations('banks')
  return (
    <div role="status">
      {refusal === null ? (
        <ul>
          {keys.map(({ key, state, host }) => (
            <li key={key} className={`break-words ${state === 'foreign' ? 'text-bad' : ''}`}>
              {t(`notices.${state}`, { key, host: host ?? '' })}
            </li>
          ))}
        </ul>
      ) : (
        <p className="break-words font-medium text-bad">
          {t('notices.refused', { reason: refusal })}
        </p>
      )}
    </div>
  )
}
