'use client'

import { useQuery, useQueryClient } from '@tanstack/react-query'
import dynamic from 'next/dynamic'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { InvitationRow } from '#app/[mode]/settings/members/invitation-row.tsx'
import { MemberRow } from '#app/[mode]/settings/members/member-row.tsx'
import { useApi } from '#components/form/api.ts'
import { useMay } from '#components/nav/may.tsx'
import { Button } from '#components/ui/button.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type {
  InvitationRow as Invitation,
  MemberRow as Member,
} from '#lib/rooms/accounts/schema.ts'

const RoleDialog = dynamic(() =>
  import('#app/[mode]/settings/members/role-dialog.tsx').then(found => found.RoleDialog),
)
const RemoveDialog = dynamic(() =>
  import('#app/[mode]/settings/members/remove-dialog.tsx').then(found => found.RemoveDialog),
)
const InviteDialog = dynamic(() =>
  import('#app/[mode]/settings/members/invite-dialog.tsx').then(found => found.InviteDialog),
)

export interface People {
  members: Member[]
  invitations: Invitation[]
}

type Asked = { deed: 'role' | 'remove' | 'leave'; member: Member } | { again: Invitation }

interface MemberListProps {
  people: People
  /** Id of the signed-in user. */
  me: string
}

export function MemberList({ people: initialData, me }: MemberListProps) {
  const t = useTranslations('members')
  const may = useMay()
  const [mayWrite, mayLeave] = [may('members:write'), may('members:leave')]
  const api = useApi()
  const client = useQueryClient()
  const [asked, setAsked] = useState<Asked | null>(null)
  const queryKey = ['members', api.scope]
  const { data } = useQuery({
    queryKey,
    initialData,
    queryFn: async ({ signal }) =>
      (await api.get<{ data: People }>('/dashboard/members', signal)).data,
  })
  const close = () => setAsked(null)
  const refresh = () => client.invalidateQueries({ queryKey })
  return (
    <>
      <Sheet>
        <ul aria-label={t('title')}>
          {data.members.map(member => {
            const isMe = member.user_id === me
            const ask = (deed: 'role' | 'remove' | 'leave') => () => setAsked({ deed, member })
            const described = {
              look: 'plain',
              'aria-describedby': `member-${member.user_id}`,
            } as const
            return (
              <MemberRow key={member.user_id} member={member} isMe={isMe}>
                {mayWrite ? (
                  <Button {...described} onClick={ask('role')}>
                    {t('changeRole')}
                  </Button>
                ) : null}
                {mayWrite && !isMe ? (
                  <Button {...described} onClick={ask('remove')}>
                    {t('remove')}
                  </Button>
                ) : null}
                {mayLeave && isMe ? (
                  <Button {...described} onClick={ask('leave')}>
                    {t('leave')}
                  </Button>
                ) : null}
              </MemberRow>
            )
          })}
        </ul>
      </Sheet>
      {data.invitations.length > 0 ? (
        <section aria-labelledby="invitations">
          <h2 id="invitations" className="mb-2.5 text-title">
            {t('invitations')}
          </h2>
          <Sheet>
            <ul aria-labelledby="invitations">
              {data.invitations.map(one => (
                <InvitationRow
                  key={one.id}
                  invitation={one}
                  onAgain={mayWrite ? () => setAsked({ again: one }) : undefined}
                  onDone={refresh}
                />
              ))}
            </ul>
          </Sheet>
        </section>
      ) : null}
      {asked && 'again' in asked ? (
        <InviteDialog again={asked.again} onClose={close} onDone={refresh} />
      ) : null}
      {asked && 'deed' in asked && asked.deed === 'role' ? (
        <RoleDialog member={asked.member} me={me} onClose={close} onDone={refresh} />
      ) : null}
      {asked && 'deed' in asked && asked.deed !== 'role' ? (
        <RemoveDialog deed={asked.deed} member={asked.member} onClose={close} onDone={refresh} />
      ) : null}
    </>
  )
}
