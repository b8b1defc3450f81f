import { Lock } from 'lucide-react'
import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { InviteButton } from '#app/[mode]/settings/members/invite-button.tsx'
import { MemberList } from '#app/[mode]/settings/members/member-list.tsx'
import { RolesTable } from '#app/[mode]/settings/members/roles-table.tsx'
import { SettingsTabs } from '#app/[mode]/settings/settings-tabs.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { Notice } from '#components/ui/notice.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { listInvitations, listMembers } from '#lib/accounts/people-queries.ts'
import { hasPermissionNow } from '#lib/people/roles.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('members'))('title') }
}

export default async function MembersPage({ params }: { params: Promise<{ mode: string }> }) {
  const { user, account, mode } = await requireMember(params)
  const [t, members, invitations] = await Promise.all([
    getTranslations('members'),
    listMembers(account.id),
    listInvitations(account.id),
  ])
  const canWrite = hasPermissionNow(account, 'members:write')
  return (
    <ClientMessages namespaces={['members', 'invitationLink']}>
      <PageHead title={t('title')}>{canWrite ? <InviteButton /> : null}</PageHead>
      <SettingsTabs mode={mode} current="members" />
      <p className="mb-4 text-muted text-small">{t('text')}</p>
      {canWrite || account.status !== 'active' ? null : (
        <div className="mb-4">
          <Notice tone="wait" icon={Lock}>
            {t('readOnly')}
          </Notice>
        </div>
      )}
      <div className="grid grid-cols-[minmax(0,1fr)] gap-7">
        <MemberList
          people={hideFromViewer(user, { members, invitations })}
          currentUserId={user.id}
        />
        <RolesTable />
      </div>
    </ClientMessages>
  )
}
