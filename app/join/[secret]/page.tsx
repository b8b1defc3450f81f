import type { Metadata } from 'next'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { Invitation } from '#app/join/[secret]/invitation.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { useRoleText } from '#components/status/role-permissions.ts'
import { buttonClass } from '#components/ui/button.tsx'
import { VisitorPage } from '#components/ui/visitor-page.tsx'
import { findInvitation, type InvitationDetails } from '#lib/accounts/people-queries.ts'
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
          {...{ secret, email, isMailed, isRegistered: isKnown }}
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
  const describeRole = useRoleText()
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
          {inviter ? t('join.by', values) : t('join.as', values)} {describeRole(role)}
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
