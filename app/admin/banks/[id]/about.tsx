'use client'

import { useTranslations } from 'next-intl'
import { CertificateDate, Latency } from '#app/admin/banks/bank-facts.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { CopyValue } from '#components/ui/copy.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { BANK_NAMES } from '#lib/banks/states.ts'
import type { BankDetail } from '#lib/operator/banks/schema.ts'

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
