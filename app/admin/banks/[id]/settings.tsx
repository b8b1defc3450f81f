'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { CertificateDate, Latency } from '#app/admin/banks/bank-facts.tsx'
import { LimitsForm } from '#app/admin/limits-form.tsx'
import { useAction, useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Button } from '#components/ui/button.tsx'
import { Code } from '#components/ui/code.tsx'
import { CopyValue } from '#components/ui/copy.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Section } from '#components/ui/sheet.tsx'
import { ConnectionLimits } from '#lib/banks/schema.ts'
import { BANK_NAMES } from '#lib/banks/states.ts'
import type { BankDetail, SettingsCorrected } from '#lib/operator/banks/schema.ts'

/** Has the account at the bank refuse payments of no charge. */
export function SettingsSection({ bankId }: { bankId: string }) {
  const t = useTranslations('banks')
  const api = useApi()
  const [corrected, setCorrected] = useState<SettingsCorrected | null>(null)
  const { run, isBusy, failure } = useAction(async () => {
    const path = `/admin/banks/${bankId}/settings`
    setCorrected((await api.send<{ data: SettingsCorrected }>('POST', path)).data)
  })
  return (
    <Section title={t('settings.title')} text={t('settings.text')}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        {corrected ? <Corrected corrected={corrected} /> : null}
        <Problem error={failure} />
        <div>
          <Button variant="quiet" onClick={() => run()} disabled={isBusy}>
            {isBusy ? t('busy') : t('settings.run')}
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
  return (
    <LimitsForm
      path={`/admin/banks/${bankId}/limits`}
      schema={ConnectionLimits}
      names={NAMES}
      limits={limits}
      textsOf={name => ({ label: t(`limits.${name}`) })}
      none={t('limits.none')}
      invalid={t('limits.invalid')}
    />
  )
}

const ReasonDialog = lazyDialog(() => import('#app/admin/reason-dialog.tsx'), 'ReasonDialog')

/** Closes the connection; of a closed one, says what is left. */
export function CloseSection({ bank }: { bank: BankDetail }) {
  const t = useTranslations('banks')
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
          path={`/admin/banks/${bank.id}/close`}
          isDestructive
          onClose={() => setOpen(false)}
        />
      ) : null}
    </Section>
  )
}
