import { useTranslations } from 'next-intl'
import { Section } from '#app/[mode]/settings/section.tsx'
import { LinkProvider } from '#app/[mode]/settings/security/link-provider.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'

interface ProviderSectionProps {
  /** Id of the provider in URLs. */
  provider: string
  name: string
  isLinked: boolean
  mode: string
  /** Whether the provider confirmed another e-mail, or none. */
  isRefused: boolean
}

export function ProviderSection({
  provider,
  name,
  isLinked,
  mode,
  isRefused,
}: ProviderSectionProps) {
  const t = useTranslations('openid')
  return (
    <Section title={t('title')} text={t('text', { name })}>
      {isLinked ? (
        <p className="font-medium">{t('on', { name })}</p>
      ) : (
        <ClientMessages namespaces={['openid']}>
          <LinkProvider {...{ provider, name, isRefused }} path={`/${mode}/settings/security`} />
        </ClientMessages>
      )}
    </Section>
  )
}
