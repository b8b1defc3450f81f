import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { JoinButton } from '#app/join/[secret]/join-button.tsx'
import { NewcomerForm } from '#app/join/[secret]/newcomer-form.tsx'
import { OpenForm, SignUpForm } from '#components/join/open-account.tsx'
import { SignOut } from '#components/nav/sign-out.tsx'
import { buttonClass } from '#components/ui/button.tsx'

interface InvitationProps {
  secret: string
  email: string
  /** True: joins an account; false: opens one. */
  isToJoin: boolean
  reader: string | null
  /** The invited e-mail already belongs to a user. */
  isKnown: boolean
}

export function Invitation({ secret, email, isToJoin, reader, isKnown }: InvitationProps) {
  const t = useTranslations('join')
  const here = `/join/${secret}`
  if (reader === email)
    return isToJoin ? <JoinButton secret={secret} /> : <OpenForm secret={secret} />
  if (reader !== null) {
    return (
      <div className="grid gap-4">
        <p className="break-words">{t('otherPerson', { reader, email })}</p>
        <div className="rounded-control border border-line2">
          <SignOut label={t('signOut')} again={t('signOutFailed')} to={here} />
        </div>
      </div>
    )
  }
  if (isKnown) {
    return (
      <div className="grid gap-4">
        <p className="break-words">{t('known', { email })}</p>
        <Link
          href={`/login?next=${encodeURIComponent(here)}`}
          prefetch={false}
          className={`${buttonClass('primary')} h-11 w-full`}
        >
          {t('signIn')}
        </Link>
      </div>
    )
  }
  return isToJoin ? (
    <NewcomerForm secret={secret} email={email} />
  ) : (
    <SignUpForm invited={{ secret, email }} />
  )
}
