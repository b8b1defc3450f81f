'use client'

import { useMutation } from '@tanstack/react-query'
import { Lock } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { CertificateDate, Latency } from '#app/admin/banks/bank-facts.tsx'
import { coverOf, ShortNotices, useBankMoney } from '#app/admin/banks/notices.tsx'
import { LimitsForm } from '#app/admin/limits-form.tsx'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { DATED_FORMAT, ExactTime, Money, useTimeText } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Button } from '#components/ui/button.tsx'
import { Code } from '#components/ui/code.tsx'
import { CopyValue } from '#components/ui/copy.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Notice, Section, Skeleton } from '#components/ui/sheet.tsx'
import { ConnectionLimits } from '#lib/banks/schema.ts'
import { BANK_NAMES } from '#lib/banks/states.ts'
import type { BankDetail, BankMoney, SettingsCorrected } from '#lib/operator/banks/schema.ts'

const ReasonDialog = lazyDialog(() => import('#app/admin/reason-dialog.tsx'), 'ReasonDialog')

/** Has the account at the bank refuse payments of no charge. */
export function SettingsSection({ bankId }: { bankId: string }) {
  const t = useTranslations('banks')
  const api = useApi()
  const correction = useMutation({
    mutationFn: () => api.post('/admin/banks/[id]/settings', { params: { id: bankId } }),
  })
  return (
    <Section title={t('settings.title')} text={t('settings.text')}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        {correction.data ? <Corrected corrected={correction.data.data} /> : null}
        <Problem error={correction.error} />
        <div>
          <Button
            variant="quiet"
            onClick={() => correction.mutate()}
            disabled={correction.isPending}
          >
            {correction.isPending ? t('busy') : t('settings.run')}
          </Button>
        </div>
      </div>
    </Section>
  )
}

function Corrected({ corrected: { settings, refusal } }: { corrected: SettingsCorrected }) {
  const t = useTranslations('banks')
  if (refusal !== null)
    return (
      <p role="status" className="break-words font-medium text-bad">
        {t('settings.refused', { reason: refusal })}
      </p>
    )
  if (settings.length === 0) return <p role="status">{t('settings.none')}</p>
  return (
    <div role="status">
      <p>{t('settings.changed')}</p>
      <ul className="mt-1 grid gap-1">
        {settings.map(setting => (
          <li key={setting} className="break-all">
            <Code>{setting}</Code>
          </li>
        ))}
      </ul>
    </div>
  )
}

export function About({ bank }: { bank: BankDetail }) {
  const t = useTranslations('banks')
  const { certificate_ends_at: endsAt, checked_at: checkedAt, profile, api_host: host } = bank
  return (
    <Facts>
      <Fact name={t('environmentName')}>{t(`environment.${bank.environment}`)}</Fact>
      <Fact name={t('kindName')}>{BANK_NAMES[bank.kind]}</Fact>
      {profile ? <Fact name={t('profileName')}>{profile}</Fact> : null}
      {host ? <Fact name={t('host')}>{host}</Fact> : null}
      <Fact name={t('receivingKeys')}>
        {bank.receiving_keys.length === 0
          ? t('noKey')
          : bank.receiving_keys.map(key => (
              <span key={key} className="block break-all">
                {key}
              </span>
            ))}
      </Fact>
      <Fact name={t('payingKey')}>{bank.paying_key ?? t('noKey')}</Fact>
      <Fact name={t('certificate')}>
        {endsAt === null ? t('noCertificate') : <CertificateDate at={endsAt} />}
      </Fact>
      <Fact name={t('lastCheck')}>
        {checkedAt === null ? t('neverChecked') : <RelativeTime at={checkedAt} />}
      </Fact>
      <Fact name={t('latency')}>
        <Latency latency={bank.latency} />
      </Fact>
      <Fact name={t('added')}>
        <RelativeTime at={bank.created_at} />
      </Fact>
      <Fact name={t('id')}>
        <CopyValue name={t('id')} value={bank.id} />
      </Fact>
    </Facts>
  )
}

const NAMES = ['payout_max', 'payout_day_max'] as const

/** Limits of what is paid out through the connection. */
export function BankLimits({ bankId, limits }: { bankId: string; limits: ConnectionLimits }) {
  const t = useTranslations('banks')
  const api = useApi()
  return (
    <LimitsForm
      store={body => api.put('/admin/banks/[id]/limits', { params: { id: bankId }, body })}
      schema={ConnectionLimits}
      names={NAMES}
      limits={limits}
      textsOf={name => ({ label: t(`limits.${name}`) })}
      none={t('limits.none')}
      invalid={t('limits.invalid')}
    />
  )
}

/** Closes the connection; of a closed one, says what is left. */
export function CloseSection({ bank }: { bank: BankDetail }) {
  const t = useTranslations('banks')
  const api = useApi()
  const [isOpen, setOpen] = useState(false)
  const { name, state, assigned, open_work: work } = bank
  const isEmpty = work.charges + work.withdrawals + work.refunds === 0
  const left = isEmpty ? t('close.nothing') : t('close.open', { ...work })
  if (state === 'closed')
    return (
      <Section title={t('close.title')}>
        <p>{left}</p>
      </Section>
    )
  return (
    <Section title={t('close.title')} text={t('close.text')}>
      <p className="mb-4 text-small">{left}</p>
      <Button variant="quiet" onClick={() => setOpen(true)} className="text-bad!">
        {t('close.run')}
      </Button>
      {isOpen ? (
        <ReasonDialog
          title={t('close.dialogTitle', { name })}
          description={t('close.dialogText', { accounts: assigned.length })}
          action={t('close.run')}
          send={body => api.post('/admin/banks/[id]/close', { params: { id: bank.id }, body })}
          isDestructive
          onClose={() => setOpen(false)}
        />
      ) : null}
    </Section>
  )
}

/** The balance of now, term by term, and whether it covers what merchants own. */
export function MoneySection({ bank }: { bank: BankDetail }) {
  const t = useTranslations('banks')
  const money = useBankMoney([bank])
  const read = money.get(bank.id)
  return (
    <Section title={t('money.title')} text={t('money.text')}>
      {read?.money ? (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
          <ShortNotices banks={[bank]} money={money} />
          <Terms money={read.money} />
        </div>
      ) : read?.isPending ? (
        <Skeleton className="h-40 w-full" />
      ) : (
        <p className="text-muted">{t('money.failed')}</p>
      )}
      <Link
        href={`/admin/reconciliation?connection=${bank.id}`}
        prefetch={false}
        className="mt-4 inline-block font-semibold text-accent hover:underline"
      >
        {t('money.differences')}
      </Link>
    </Section>
  )
}

const TERMS = ['opening', 'books', 'payouts', 'refunds', 'payments', 'fees', 'others'] as const

function Terms({ money }: { money: BankMoney }) {
  const t = useTranslations('banks')
  const cover = coverOf(money)
  return (
    <dl>
      {TERMS.map(name => (
        <Line key={name} name={t(`money.term.${name}`)}>
          <Money cents={money.terms[name] ?? 0} />
        </Line>
      ))}
      <Line name={t('money.expected')} isSum>
        <Money cents={money.expected} />
      </Line>
      <Line name={t('money.bank')} isSum>
        {money.bank === null ? t('unknown') : <Money cents={money.bank} />}
      </Line>
      {money.rest === null ? null : (
        <Line name={t('money.rest')} isBad={money.rest !== 0}>
          <Money cents={money.rest} />
        </Line>
      )}
      <Line name={t('money.owned')} isSum>
        <Money cents={money.owned} />
      </Line>
      <Line name={t('money.cover')} isBad={cover !== null && cover < 100}>
        {cover === null ? '—' : t('coverText', { percent: cover })}
      </Line>
    </dl>
  )
}

interface LineProps {
  name: string
  isSum?: boolean
  isBad?: boolean
  children: ReactNode
}

function Line({ name, isSum, isBad, children }: LineProps) {
  return (
    <div
      className={`flex justify-between gap-4 py-1 ${isSum ? 'border-line border-t pt-2 font-semibold' : ''} ${isBad ? 'text-bad' : ''}`}
    >
      <dt className={isSum || isBad ? '' : 'text-muted'}>{name}</dt>
      <dd className="shrink-0 text-right tabular-nums">{children}</dd>
    </div>
  )
}

const LISTS = ['payments', 'refunds', 'payouts'] as const

interface MoneyOutProps {
  bank: Pick<BankDetail, 'id' | 'name'>
  closure: NonNullable<BankDetail['closure']>
}

/** How far the bank was read after a restore, and how two admins open money out of a bank without lists. */
export function MoneyOutSection({ bank, closure }: MoneyOutProps) {
  const t = useTranslations('banks')
  const api = useApi()
  const timeText = useTimeText()
  const [isOpen, setOpen] = useState(false)
  const { restored_to: restoredTo, until, unsettled, held, is_unlisted, proposal } = closure
  const time = timeText(restoredTo, DATED_FORMAT)
  return (
    <Section title={t('moneyOut.title')} text={t('moneyOut.text', { time })}>
      <div className="mb-4 grid gap-4">
        <Facts>
          {LISTS.map(list => (
            <Fact key={list} name={t(`moneyOut.${list}`)}>
              <ReadUntil at={until[list]} />
            </Fact>
          ))}
        </Facts>
        {unsettled > 0 ? <p>{t('moneyOut.unsettled', { count: unsettled })}</p> : null}
        {held > 0 ? <p>{t('moneyOut.held', { count: held })}</p> : null}
        {is_unlisted ? <p>{t('moneyOut.unlisted')}</p> : null}
        {proposal ? (
          <Notice tone="wait" icon={Lock}>
            {t('moneyOut.proposed', {
              by: proposal.by ?? t('moneyOut.someone'),
              reason: proposal.reason,
            })}
          </Notice>
        ) : null}
      </div>
      <Button variant="quiet" onClick={() => setOpen(true)} className="text-bad!">
        {proposal ? t('moneyOut.confirm') : t('moneyOut.propose')}
      </Button>
      {isOpen ? (
        <ReasonDialog
          title={t('moneyOut.dialogTitle', { name: bank.name })}
          description={proposal ? t('moneyOut.confirmText') : t('moneyOut.dialogText')}
          action={proposal ? t('moneyOut.confirm') : t('moneyOut.propose')}
          reasonHint={t('moneyOut.hint')}
          send={({ reason }) =>
            api.post('/admin/banks/[id]/money-out', {
              params: { id: bank.id },
              body: { reason, ...(proposal && { proposal_id: proposal.id }) },
            })
          }
          isDestructive
          onClose={() => setOpen(false)}
        />
      ) : null}
    </Section>
  )
}

function ReadUntil({ at }: { at: string | null }) {
  const t = useTranslations('banks')
  return at === null ? (
    <span className="text-muted">{t('moneyOut.none')}</span>
  ) : (
    <ExactTime at={at} format="dated" />
  )
}
