import { ShieldAlert } from 'lucide-react'
import type { Metadata } from 'next'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { SecondFactor } from '#app/[mode]/settings/security/second-factor.tsx'
import { Devices, LinkProvider, PasswordForm } from '#app/[mode]/settings/security/sign-in-ways.tsx'
import { SettingsTabs, TitledSection } from '#app/[mode]/settings/settings-tabs.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { personQueries } from '#components/queries/people.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { isSecondFactorMissing, readFactors } from '#lib/people/factors.ts'
import { hasOpenid } from '#lib/people/openid.ts'
import { hasPassword } from '#lib/people/password.ts'
import { SESSIONS_MAX } from '#lib/people/schema.ts'
import { listDevices } from '#lib/people/sessions.ts'
import { requireMode, requireUser } from '#lib/session/gate.ts'
import { openidProviders } from '#lib/session/openid.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('security'))('title') }
}

interface SecurityPageProps {
  params: Promise<{ mode: string }>
  searchParams: Promise<{ openid?: string | string[] }>
}

/** Security settings of the user, also shown to users without an account. */
export default async function SecurityPage({ params, searchParams }: SecurityPageProps) {
  const mode = requireMode((await params).mode)
  const user = await requireUser()
  const [provider] = openidProviders()
  const [t, isPasswordSet, devices, isLinked] = await Promise.all([
    getTranslations(),
    hasPassword(user.id),
    listDevices(user),
    provider ? hasOpenid(user.id) : false,
  ])
  return (
    <>
      {user.accounts.length > 0 ? (
        <>
          <PageHead title={t('security.title')} />
          <SettingsTabs mode={mode} current="security" />
        </>
      ) : (
        <h1 className="mb-6 text-head">{t('security.title')}</h1>
      )}
      {isSecondFactorMissing(user) ? (
        <div className="mb-5">
          <Notice tone="wait" icon={ShieldAlert}>
            {t('security.factorNeeded')}
          </Notice>
        </div>
      ) : null}
      <ClientMessages namespaces={['password', 'newPassword', 'devices']}>
        <div>
          <TitledSection
            title={t('password.title')}
            text={isPasswordSet ? t('password.text') : t('password.none')}
          >
            <PasswordForm email={user.email} hasPassword={isPasswordSet} />
          </TitledSection>
          <SecondFactorSection user={user} />
          {provider ? (
            <ProviderSection
              provider={provider.id}
              name={provider.name}
              isLinked={isLinked}
              mode={mode}
              isRefused={(await searchParams).openid === 'refused'}
            />
          ) : null}
          <TitledSection title={t('devices.title')} text={t('devices.text', { max: SESSIONS_MAX })}>
            <Prefetched seeds={[seed(personQueries.devices(readerFor(mode, user, null)), devices)]}>
              <Devices />
            </Prefetched>
          </TitledSection>
        </div>
      </ClientMessages>
    </>
  )
}

async function SecondFactorSection({ user }: { user: { id: string; email: string } }) {
  const [t, factors] = await Promise.all([getTranslations('factor'), readFactors(user.id)])
  return (
    <ClientMessages namespaces={['factor']}>
      <TitledSection title={t('title')} text={t('text')}>
        <SecondFactor factors={factors} email={user.email} />
      </TitledSection>
    </ClientMessages>
  )
}

interface ProviderSectionProps {
  /** Id of the provider in URLs. */
  provider: string
  name: string
  isLinked: boolean
  mode: string
  /** Whether the provider confirmed another e-mail, or none. */
  isRefused: boolean
}

function ProviderSection({ provider, name, isLinked, mode, isRefused }: ProviderSectionProps) {
  const t = useTranslations('openid')
  return (
    <TitledSection title={t('title')} text={t('text', { name })}>
      {isLinked ? (
        <p className="font-medium">{t('on', { name })}</p>
      ) : (
        <ClientMessages namespaces={['openid']}>
          <LinkProvider {...{ provider, name, isRefused }} path={`/${mode}/settings/security`} />
        </ClientMessages>
      )}
    </TitledSection>
  )
}
