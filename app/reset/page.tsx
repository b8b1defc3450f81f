import type { Metadata } from 'next'
import Link from 'next/link'
import { getTranslations } from 'next-intl/server'
import { ClientWords } from '#components/client-words.tsx'
import { AskReset } from '#components/security/ask-reset.tsx'
import { VisitorPage } from '#components/visitor-page.tsx'
import { canMail } from '#lib/services/mail/queue.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('reset'))('title') }
}

export default async function ResetPage() {
  const t = await getTranslations('reset')
  const back = (
    <Link href="/login" prefetch={false} className="font-semibold text-accent hover:underline">
      {t('back')}
    </Link>
  )
  return (
    <VisitorPage
      title={t('title')}
      subtitle={t('subtitle')}
      below={<p className="mt-5 text-small">{back}</p>}
    >
      {canMail() ? (
        <ClientWords of={['reset']}>
          <AskReset />
        </ClientWords>
      ) : (
        <p>{t('noMail')}</p>
      )}
    </VisitorPage>
  )
}
