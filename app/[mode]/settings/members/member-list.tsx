'use client'

import { useQuery, useQueryClient } from '@tanstack/react-query'
import dynamic from 'next/dynamic'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { InvitationRow } from '#app/[mode]/settings/members/invitation-row.tsx'
import { MemberRow } from '#app/[mode]/settings/members/member-row.tsx'
import { useApi } from '#components/form/api.ts'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { Button } from '#components/ui/button.tsx'
import { ListSheet } from '#components/ui/sheet.tsx'
import type { InvitationRow as Invitation, MemberRow as Member } from '#lib/accounts/schema.ts'

const RoleDialog = dynamic(() =>
  import('#app/[mode]/settings/members/role-dialog.tsx').then(module => module.RoleDialog),
)
const LeaveDialog = dynamic(() =>
  import('#app/[mode]/settings/members/leave-dialog.tsx').then(found => found.LeaveDialog),
)
const LastOwnerDialog = dynamic(() =>
  import('#app/[mode]/settings/members/last-owner-dialog.tsx').then(found => found.LastOwnerDialog),
)
const RemoveDialog = dynamic(() =>
  import('#app/[mode]/settings/members/remove-dialog.tsx').then(module => module.RemoveDialog),
)
const InviteDialog = dynamic(() =>
  import('#app/[mode]/settings/members/invite-dialog.tsx').then(module => module.InviteDialog),
)

export interface MembersAndInvitations {
  members: Member[]
  invitations: Invitation[]
}

type OpenDialog =
  | { kind: 'role' | 'remove' | 'leave'; member: Member }
  | { kind: 'lastOwner'; wanted: 'role' | 'leave' }
  | { kind: 'resend'; invitation: Invitation }

interface MemberListProps {
  people: MembersAndInvitations
  currentUserId: string
}

export function MemberList({ people: initialData, currentUserId }: MemberListProps) {
  const t = useTranslations('members')
  const hasPermission = useHasPermission()
  const [canWrite, canLeave] = [hasPermission('members:write'), hasPermission('members:leave')]
  const api = useApi()
  const queryClient = useQueryClient()
  const [openDialog, setOpenDialog] = useState<OpenDialog | null>(null)
  const queryKey = ['members', api.scope]
  const { data } = useQuery({
    queryKey,
    initialData,
    queryFn: async ({ signal }) =>
      (await api.get<{ data: MembersAndInvitations }>('/dashboard/members', signal)).data,
  })
  const close = () => setOpenDialog(null)
  const refresh = () => {
    // Tokens may have another issuer or be revoked since.
    queryClient.removeQueries({ queryKey: ['tokens'] })
    return queryClient.invalidateQueries({ queryKey })
  }
  return (
    <>
      <ListSheet>
        <ul aria-label={t('title')}>
          {data.members.map(member => {
            const isMe = member.user_id === currentUserId
            const showDialog = (kind: 'role' | 'remove' | 'leave') => () =>
              setOpenDialog(
                kind !== 'remove' && isLastOwner(member, data.members)
                  ? { kind: 'lastOwner', wanted: kind }
                  : { kind, member },
              )
            const buttonProps = {
              variant: 'plain',
              'aria-describedby': `member-${member.user_id}`,
            } as const
            return (
              <MemberRow key={member.user_id} member={member} isMe={isMe}>
                {canWrite ? (
                  <Button {...buttonProps} onClick={showDialog('role')}>
                    {t('changeRole')}
                  </Button>
                ) : null}
                {canWrite && !isMe ? (
                  <Button {...buttonProps} onClick={showDialog('remove')}>
                    {t('remove')}
                  </Button>
                ) : null}
                {canLeave && isMe ? (
                  <Button {...buttonProps} onClick={showDialog('leave')}>
                    {t('leave')}
                  </Button>
                ) : null}
              </MemberRow>
            )
          })}
        </ul>
      </ListSheet>
      {data.invitations.length > 0 ? (
        <section aria-labelledby="invitations">
          <h2 id="invitations" className="mb-2.5 text-title">
            {t('invitations')}
          </h2>
          <ListSheet>
            <ul aria-labelledby="invitations">
              {data.invitations.map(invitation => (
                <InvitationRow
                  key={invitation.id}
                  invitation={invitation}
                  onResend={
                    canWrite ? () => setOpenDialog({ kind: 'resend', invitation }) : undefined
                  }
                  onDone={refresh}
                />
              ))}
            </ul>
          </ListSheet>
        </section>
      ) : null}
      {openDialog?.kind === 'resend' ? (
        <InviteDialog invitationToResend={openDialog.invitation} onClose={close} onDone={refresh} />
      ) : null}
      {openDialog?.kind === 'role' ? (
        <RoleDialog
          member={openDialog.member}
          currentUserId={currentUserId}
          onClose={close}
          onDone={refresh}
        />
      ) : null}
      {openDialog?.kind === 'remove' ? (
        <RemoveDialog member={openDialog.member} onClose={close} onDone={refresh} />
      ) : null}
      {openDialog?.kind === 'leave' ? (
        <LeaveDialog name={openDialog.member.full_name} onClose={close} />
      ) : null}
      {openDialog?.kind === 'lastOwner' ? (
        <LastOwnerDialog wanted={openDialog.wanted} onClose={close} />
      ) : null}
    </>
  )
}

function isLastOwner({ role }: Member, members: Member[]): boolean {
  return role === 'owner' && members.filter(member => member.role === 'owner').length === 1
}
