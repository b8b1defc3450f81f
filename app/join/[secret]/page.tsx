import type { Metadata } from 'next'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { JoinButton, MailRequest, NewcomerForm } from '#app/join/[secret]/join-forms.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { OpenAccountForm } from '#components/join/open-account.tsx'
import { SignOutButton } from '#components/nav/session.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { VisitorPage } from '#components/ui/visitor-page.tsx'
import { findInvitation, type InvitationDetails } from '#lib/accounts/queries.ts'
import { env } from '#lib/core/settings.ts'
import { currentUser } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  // The URL contains the secret, so it must not be sent as a referrer.
  return { title: (await getTranslations('join'))('title'), referrer: 'no-referrer' }
}

export default async function JoinPage({ params }: { params: Promise<{ secret: string }> }) {
  const { secret } = await params
  const [invitation, user] = await Promise.all([findInvitation(secret), currentUser()])
  if (!invitation) return <EndedInvitation reason="unknown" />
  if (invitation.state !== 'open') return <EndedInvitation reason={invitation.state} />
  if (invitation.account === null && env().SIGNUPS === 'closed')
    return <EndedInvitation reason="closed" />
  const { account, email, isKnown, isMailed } = invitation
  return (
    <ClientMessages namespaces={['join', 'signUp', 'newPassword']}>
      <InvitationPage invitation={invitation}>
        <Invitation
          secret={secret}
          email={email}
          isMailed={isMailed}
          isRegistered={isKnown}
          hasAccount={account !== null}
          signedInEmail={user?.email ?? null}
        />
      </InvitationPage>
    </ClientMessages>
  )
}

function InvitationPage({
  invitation,
  children,
}: {
  invitation: InvitationDetails
  children: React.ReactNode
}) {
  const t = useTranslations()
  const { account, inviter, role } = invitation
  if (account === null) {
    return (
      <VisitorPage title={t('signUp.title')} subtitle={t('join.opening')}>
        {children}
      </VisitorPage>
    )
  }
  const values = { role: t(`members.role.${role}`), inviter: inviter ?? '' }
  return (
    <VisitorPage
      title={t('join.to', { account })}
      subtitle={
        <>
          {inviter ? t('join.by', values) : t('join.as', values)} {t(`members.can.${role}`)}
        </>
      }
    >
      {children}
    </VisitorPage>
  )
}

type EndReason = Exclude<InvitationDetails['state'], 'open'> | 'unknown' | 'closed'

/** Shows why the invitation ended, without any other detail of the invitation. */
function EndedInvitation({ reason }: { reason: EndReason }) {
  const t = useTranslations('join')
  return (
    <VisitorPage title={t('endedTitle')} subtitle={t('endedSubtitle')}>
      <p className="mb-5">{t(`ended.${reason}`)}</p>
      <Link href="/" prefetch={false} className={`${buttonClass('quiet')} w-full`}>
        {t('home')}
      </Link>
    </VisitorPage>
  )
}

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

function Invitation({
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
