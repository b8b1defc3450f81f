import { Clock } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { getTranslations } from 'next-intl/server'
import { FirstPasswordForm } from '#app/signup/[secret]/first-password-form.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { Notice } from '#components/ui/sheet.tsx'
import { VisitorPage } from '#components/ui/visitor-page.tsx'
import { findSignUp } from '#lib/accounts/create.ts'

export async function generateMetadata(): Promise<Metadata> {
  // The URL contains the secret, so it must not be sent as a referrer.
  return { title: (await getTranslations('signUp'))('chooseTitle'), referrer: 'no-referrer' }
}

export default async function FirstPasswordPage({
  params,
}: {
  params: Promise<{ secret: string }>
}) {
  const { secret } = await params
  const [t, request] = await Promise.all([getTranslations('signUp'), findSignUp(secret)])
  if (!request) {
    return (
      <VisitorPage title={t('title')} subtitle={t('expiredSubtitle')}>
        <div className="grid gap-5">
          <Notice tone="wait" icon={Clock}>
            {t('expired')}
          </Notice>
          <Link href="/signup" prefetch={false} className={buttonClass('primary')}>
            {t('again')}
          </Link>
        </div>
      </VisitorPage>
    )
  }
  const { email, account_name: account } = request
  return (
    <VisitorPage title={t('chooseTitle')} subtitle={t('chooseText', { email, account })}>
      <ClientMessages namespaces={['signUp', 'newPassword']}>
        <FirstPasswordForm secret={secret} email={email} />
      </ClientMessages>
    </VisitorPage>
  )
}
