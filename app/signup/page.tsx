import type { Metadata } from 'next'
import Link from 'next/link'
import { redirect } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { OpenAccountForm, SignUpForm } from '#components/join/open-account.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { VisitorPage } from '#components/ui/visitor-page.tsx'
import { env } from '#lib/core/settings.ts'
import { canSendMail } from '#lib/mail/queue.ts'
import { currentUser } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('signUp'))('title') }
}

export default async function SignUpPage() {
  const [t, user] = await Promise.all([getTranslations('signUp'), currentUser()])
  if (user && !user.isEmailVerified) redirect('/verify')
  const { SIGNUPS, NEW_ACCOUNTS, SMTP_URL } = env()
  const isMailMissing = !user && !canSendMail()
  if (SIGNUPS !== 'open' || isMailMissing) {
    return (
      <VisitorPage title={t('title')} subtitle={t('notOpen')}>
        <p className="mb-5">{SIGNUPS === 'open' ? t('noMail') : t(`how.${SIGNUPS}`)}</p>
        <Link href="/" prefetch={false} className={`${buttonClass('quiet')} w-full`}>
          {user ? t('home') : t('signIn')}
        </Link>
      </VisitorPage>
    )
  }
  const subtitle = NEW_ACCOUNTS === 'pending' ? t('waits') : t('atOnce')
  return (
    <ClientMessages namespaces={['signUp', 'newPassword']}>
      <VisitorPage
        title={t('title')}
        subtitle={user ? t('another', { email: user.email }) : subtitle}
        below={
          <p className="mt-5 text-center text-muted text-small">
            {user ? null : t('hasOne')}{' '}
            <Link
              href={user ? '/' : '/login?next=/signup'}
              prefetch={false}
              className="inline-block py-1 font-medium text-accent hover:underline"
            >
              {user ? t('home') : t('signIn')}
            </Link>
          </p>
        }
      >
        {user ? <OpenAccountForm /> : <SignUpForm isMailLogged={!SMTP_URL} />}
      </VisitorPage>
    </ClientMessages>
  )
}
