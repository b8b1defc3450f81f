import type { Metadata } from 'next'
import Link from 'next/link'
import { getTranslations } from 'next-intl/server'
import { ResetRequestForm } from '#app/reset/reset-forms.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { VisitorPage } from '#components/ui/visitor-page.tsx'
import { canSendMail } from '#lib/mail/queue.ts'

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
      below={<p className="mt-6 text-center text-small">{back}</p>}
    >
      {canSendMail() ? (
        <ClientMessages namespaces={['reset']}>
          <ResetRequestForm />
        </ClientMessages>
      ) : (
        <p>{t('noMail')}</p>
      )}
    </VisitorPage>
  )
}
