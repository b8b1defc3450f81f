import { Clock } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { getTranslations } from 'next-intl/server'
import { NewPasswordForm } from '#app/reset/reset-forms.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { Notice } from '#components/ui/sheet.tsx'
import { VisitorPage } from '#components/ui/visitor-page.tsx'
import { findResetEmail } from '#lib/people/password.ts'

export async function generateMetadata(): Promise<Metadata> {
  const title = (await getTranslations('reset'))('chooseTitle')
  // The URL contains the secret, so it must not be sent as a referrer.
  return { title, referrer: 'no-referrer' }
}

export default async function NewPasswordPage({ params }: { params: Promise<{ secret: string }> }) {
  const { secret } = await params
  const [t, email] = await Promise.all([getTranslations('reset'), findResetEmail(secret)])
  if (!email) {
    return (
      <VisitorPage title={t('chooseTitle')} subtitle={t('subtitle')}>
        <div className="grid gap-5">
          <Notice tone="wait" icon={Clock}>
            {t('expired')}
          </Notice>
          <Link href="/reset" prefetch={false} className={buttonClass('primary')}>
            {t('again')}
          </Link>
        </div>
      </VisitorPage>
    )
  }
  return (
    <VisitorPage title={t('chooseTitle')} subtitle={t('for', { email })}>
      <ClientMessages namespaces={['reset', 'newPassword']}>
        <NewPasswordForm secret={secret} email={email} />
      </ClientMessages>
    </VisitorPage>
  )
}
