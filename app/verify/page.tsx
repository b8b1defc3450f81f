import type { Metadata } from 'next'
import Link from 'next/link'
import { getTranslations } from 'next-intl/server'
import { LinkRequest } from '#app/verify/verify-forms.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { SignOutButton } from '#components/nav/session.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { VisitorPage } from '#components/ui/visitor-page.tsx'
import { env } from '#lib/core/settings.ts'
import { canSendMail } from '#lib/mail/queue.ts'
import { requireSession } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('verify'))('title') }
}

/** Asks a signed-in user to prove the e-mail; without that, they are in no account. */
export default async function VerifyPage() {
  const [t, { email, isEmailVerified }] = await Promise.all([
    getTranslations('verify'),
    requireSession(),
  ])
  if (isEmailVerified) {
    return (
      <VisitorPage title={t('title')} subtitle={t('done')}>
        <Link href="/" prefetch={false} className={`${buttonClass('primary')} h-11 w-full`}>
          {t('home')}
        </Link>
      </VisitorPage>
    )
  }
  return (
    <VisitorPage title={t('title')} subtitle={t('subtitle', { email })}>
      <div className="grid gap-5">
        <p>{t('text')}</p>
        {canSendMail() ? (
          <ClientMessages namespaces={['verify']}>
            <LinkRequest email={email} isMailLogged={!env().SMTP_URL} />
          </ClientMessages>
        ) : (
          <p>{t('noMail')}</p>
        )}
        <SignOutButton
          label={t('signOut')}
          retryLabel={t('signOutFailed')}
          className="justify-center"
        />
      </div>
    </VisitorPage>
  )
}
