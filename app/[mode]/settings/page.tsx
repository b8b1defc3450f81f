import { Lock } from 'lucide-react'
import type { Metadata } from 'next'
import { useLocale, useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { AccountForm, ApprovalForm } from '#app/[mode]/settings/account-form.tsx'
import { PreferencesForm, ProfileForm } from '#app/[mode]/settings/profile-form.tsx'
import { SettingsTabs, TitledSection } from '#app/[mode]/settings/settings-tabs.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { Money } from '#components/format/format.tsx'
import { CopyValue } from '#components/ui/copy.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { readDetails, readLimits } from '#lib/accounts/queries.ts'
import { type AccountLimits, LIMIT_NAMES } from '#lib/accounts/schema.ts'
import { accountKey } from '#lib/api-pix/wire.ts'
import { env } from '#lib/core/settings.ts'
import { readApprovalSettings } from '#lib/dashboard/approval-rule.ts'
import { hasPermission, hasPermissionNow } from '#lib/people/roles.ts'
import { requireMember } from '#lib/session/gate.ts'
import { readTheme } from '#lib/session/preferences.ts'
import type { SessionAccount } from '#lib/session/schema.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('settings'))('title') }
}

export default async function SettingsPage({ params }: { params: Promise<{ mode: string }> }) {
  const { user, account, mode } = await requireMember(params)
  const [t, theme, limits, approval] = await Promise.all([
    getTranslations('settings'),
    readTheme(),
    readLimits(account.id),
    readApprovalSettings(account.id, user.id),
  ])
  return (
    <>
      <PageHead title={t('title')} />
      <SettingsTabs mode={mode} current="general" />
      <ClientMessages namespaces={['settings', 'approvalRule']}>
        <div>
          <AccountSection account={account} />
          <TitledSection title={t('approval.title')} text={t('approval.text')}>
            <ApprovalForm
              initialSettings={approval}
              canWrite={hasPermissionNow(account, 'settings:write')}
            />
          </TitledSection>
          <TitledSection title={t('limits.title')} text={t('limits.text')}>
            <Limits limits={limits} />
          </TitledSection>
          <TitledSection title={t('apiPix.title')} text={t('apiPix.text')}>
            <Facts>
              <Fact name={t('apiPix.address')}>
                <CopyValue name={t('apiPix.address')} value={`${env().PUBLIC_URL}/api/pix`} />
              </Fact>
              <Fact name={t('apiPix.key')}>
                <CopyValue name={t('apiPix.key')} value={accountKey(account.id, mode)} />
              </Fact>
            </Facts>
            <p className="mt-4 text-small">
              <a href="/docs/api-pix" className="text-accent hover:underline">
                {t('apiPix.guide')}
              </a>
            </p>
          </TitledSection>
          <TitledSection title={t('profile.title')} text={t('profile.text')}>
            <ProfileForm name={user.name} />
          </TitledSection>
          <TitledSection title={t('look.title')} text={t('look.text')}>
            <PreferencesForm theme={theme} />
          </TitledSection>
          <TitledSection title={t('identity.title')} text={t('identity.text')}>
            <Facts>
              <Fact name={t('identity.email')}>{user.email}</Fact>
              <Fact name={t('identity.role')}>{t(`role.${account.role}`)}</Fact>
              <Fact name={t('identity.state')}>{t(`state.${account.status}`)}</Fact>
              <Fact name={t('identity.account')}>
                <CopyValue name={t('identity.account')} value={account.id} />
              </Fact>
            </Facts>
          </TitledSection>
        </div>
      </ClientMessages>
    </>
  )
}

async function AccountSection({ account }: { account: SessionAccount }) {
  const [t, details] = await Promise.all([getTranslations('settings'), readDetails(account.id)])
  const canWrite = hasPermissionNow(account, 'settings:write')
  const { name, city, expiresIn: expires_in, timeZone: time_zone } = account
  const charge_review_above = account.chargeReviewAbove
  return (
    <TitledSection title={t('account.title')} text={t('account.text')}>
      {hasPermission(account.role, 'settings:write') ? null : (
        <div className="mb-5">
          <Notice tone="wait" icon={Lock}>
            {t('readOnly')}
          </Notice>
        </div>
      )}
      <AccountForm
        account={{ name, city, expires_in, time_zone, charge_review_above, ...details }}
        canWrite={canWrite}
        timeZones={
          <TimeZoneOptions brazilLabel={t('account.brazil')} worldLabel={t('account.world')} />
        }
      />
    </TitledSection>
  )
}

/** Limits in live mode, set by the operator. */
function Limits({ limits }: { limits: AccountLimits }) {
  const t = useTranslations('settings')
  return (
    <Facts>
      {LIMIT_NAMES.map(name => (
        <Fact key={name} name={t(`limits.${name}`)}>
          {limits[name] === null ? t('limits.none') : <Money cents={limits[name]} />}
        </Fact>
      ))}
    </Facts>
  )
}

/** Brazilian zones with their local names; other zones show their identifier. */
const BRAZILIAN_ZONES: Record<string, string> = {
  'America/Sao_Paulo': 'São Paulo, Brasília',
  'America/Bahia': 'Salvador',
  'America/Fortaleza': 'Fortaleza',
  'America/Recife': 'Recife',
  'America/Maceio': 'Maceió',
  'America/Belem': 'Belém',
  'America/Santarem': 'Santarém',
  'America/Araguaina': 'Araguaína',
  'America/Manaus': 'Manaus',
  'America/Cuiaba': 'Cuiabá',
  'America/Campo_Grande': 'Campo Grande',
  'America/Porto_Velho': 'Porto Velho',
  'America/Boa_Vista': 'Boa Vista',
  'America/Rio_Branco': 'Rio Branco',
  'America/Eirunepe': 'Eirunepé',
  'America/Noronha': 'Fernando de Noronha',
}

interface TimeZoneOptionsProps {
  brazilLabel: string
  worldLabel: string
}

function TimeZoneOptions({ brazilLabel, worldLabel }: TimeZoneOptionsProps) {
  const locale = useLocale()
  const supportedZones = Intl.supportedValuesOf('timeZone')
  const otherZones = supportedZones.filter(name => !(name in BRAZILIAN_ZONES))
  const option = (name: string, label: string) => (
    <option key={name} value={name}>
      {label} ({offsetOf(name, locale)})
    </option>
  )
  return (
    <>
      <optgroup label={brazilLabel}>
        {Object.entries(BRAZILIAN_ZONES)
          .filter(([name]) => supportedZones.includes(name))
          .map(([name, city]) => option(name, city))}
      </optgroup>
      <optgroup label={worldLabel}>
        {otherZones.map(name => option(name, name.replaceAll('_', ' ').replaceAll('/', ' / ')))}
        {otherZones.includes('UTC') ? null : option('UTC', 'UTC')}
      </optgroup>
    </>
  )
}

/** Cached for an hour by language and zone: creating the formatters of all zones takes 50 ms. */
const offsets = new Map<string, string>()
let offsetsHour = 0
const HOUR_MS = 3_600_000

function offsetOf(timeZone: string, locale: string): string {
  const hour = Math.floor(Date.now() / HOUR_MS)
  if (hour !== offsetsHour) offsets.clear()
  offsetsHour = hour
  const key = `${locale} ${timeZone}`
  const known = offsets.get(key)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat(locale, { timeZone, timeZoneName: 'shortOffset' })
  const parts = format.formatToParts(new Date())
  const offset = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  offsets.set(key, offset)
  return offset
}
