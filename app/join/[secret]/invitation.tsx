import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { JoinButton } from '#app/join/[secret]/join-button.tsx'
import { MailRequest } from '#app/join/[secret]/mail-request.tsx'
import { NewcomerForm } from '#app/join/[secret]/newcomer-form.tsx'
import { OpenAccountForm } from '#components/join/open-account.tsx'
import { SignOutButton } from '#components/nav/sign-out.tsx'
import { buttonClass } from '#components/ui/button.tsx'

interface InvitationProps {
  secret: string
  email: string
  /** Whether the invitation is to an existing account; otherwise it allows opening an account. */
  hasAccount: boolean
  signedInEmail: string | null
  /** Whether the invited e-mail already belongs to a user. */
  isRegistered: boolean
  /** Whether this is the link that was mailed, which proves the e-mail. */
  isMailed: boolean
}

export function Invitation({
  secret,
  email,
  hasAccount,
  signedInEmail,
  isRegistered,
  isMailed,
}: InvitationProps) {
  const t = useTranslations('join')
  const joinPath = `/join/${secret}`
  if (signedInEmail === email)
    return hasAccount ? <JoinButton secret={secret} /> : <OpenAccountForm secret={secret} />
  if (signedInEmail !== null) {
    return (
      <div className="grid gap-4">
        <p>{t('otherPerson', { reader: signedInEmail, email })}</p>
        <div className="rounded-control border border-line2">
          <SignOutButton
            label={t('signOut')}
            retryLabel={t('signOutFailed')}
            to={joinPath}
            className="justify-center"
          />
        </div>
      </div>
    )
  }
  if (isRegistered || !isMailed) {
    return (
      <div className="grid gap-4">
        <p>{isMailed ? t('known', { email }) : t('needsMail', { email })}</p>
        <Link
          href={`/login?next=${encodeURIComponent(joinPath)}`}
          prefetch={false}
          className={`${buttonClass('primary')} h-11 w-full`}
        >
          {t('signIn')}
        </Link>
        {isMailed ? null : <MailRequest secret={secret} email={email} />}
      </div>
    )
  }
  return <NewcomerForm secret={secret} email={email} isOpening={!hasAccount} />
}
