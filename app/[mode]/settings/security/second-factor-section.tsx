import { getTranslations } from 'next-intl/server'
import { Section } from '#app/[mode]/settings/section.tsx'
import { SecondFactor } from '#app/[mode]/settings/security/second-factor.tsx'
import { ClientWords } from '#components/format/client-words.tsx'
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
