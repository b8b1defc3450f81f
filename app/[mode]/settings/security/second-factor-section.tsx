import { getTranslations } from 'next-intl/server'
import { ClientWords } from '#components/client-words.tsx'
import { SecondFactor } from '#components/security/second-factor.tsx'
import { Section } from '#components/settings/section.tsx'
import { readFactors } from '#lib/services/people/factors.ts'

interface SecondFactorSectionProps {
  user: { id: string; email: string }
}

export async function SecondFactorSection({ user }: SecondFactorSectionProps) {
  const [t, factors] = await Promise.all([getTranslations('factor'), readFactors(user.id)])
  return (
    <ClientWords of={['factor']}>
      <Section title={t('title')} text={t('text')}>
        <SecondFactor factors={factors} email={user.email} />
      </Section>
    </ClientWords>
  )
}
