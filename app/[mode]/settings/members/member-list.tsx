'use client'

import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { Clock, ShieldCheck, ShieldOff, TimerOff, UserPlus } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { memberQueries } from '#components/queries/people.ts'
import { Button } from '#components/ui/button.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { ListSheet } from '#components/ui/sheet.tsx'
import type { InvitationRow as Invitation, MemberRow as Member } from '#lib/accounts/schema.ts'

const loadDialogs = () => import('#app/[mode]/settings/members/dialogs.tsx')
const RoleDialog = lazyDialog(loadDialogs, 'RoleDialog')
const LeaveDialog = lazyDialog(loadDialogs, 'LeaveDialog')
const LastOwnerDialog = lazyDialog(loadDialogs, 'LastOwnerDialog')
const RemoveDialog = lazyDialog(loadDialogs, 'RemoveDialog')
const InviteDialog = lazyDialog(loadDialogs, 'InviteDialog')

type OpenDialog =
  | { kind: 'role' | 'remove' | 'leave'; member: Member }
  | { kind: 'lastOwner'; wanted: 'role' | 'leave' }
  | { kind: 'resend'; invitation: Invitation }

export function MemberRows({ currentUserId }: { currentUserId: string }) {
  const t = useTranslations('members')
  const hasPermission = useHasPermission()
  const [canWrite, canLeave] = [hasPermission('members:write'), hasPermission('members:leave')]
  const api = useApi()
  const queryClient = useQueryClient()
  const [openDialog, setOpenDialog] = useState<OpenDialog | null>(null)
  const query = memberQueries.list(api)
  const { data } = useSuspenseQuery(query)
  const close = () => setOpenDialog(null)
  const refresh = () => queryClient.invalidateQueries({ queryKey: query.queryKey })
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

interface MemberRowProps {
  member: Member
  isMe: boolean
  children: ReactNode
}

function MemberRow({ member, isMe, children }: MemberRowProps) {
  const t = useTranslations('members')
  const { user_id, full_name, email, role, joined_at, last_used_at, has_second_factor } = member
  const FactorIcon = has_second_factor ? ShieldCheck : ShieldOff
  return (
    <li
      data-testid="member-row"
      className="grid grid-cols-[minmax(0,1fr)] gap-x-6 gap-y-2.5 border-line px-4 py-4 not-first:border-t md:px-[18px] @wide:grid-cols-[minmax(0,1fr)_150px_184px_256px] @wide:items-start"
    >
      <div className="min-w-0">
        <p id={`member-${user_id}`} className="break-words font-semibold">
          {full_name}
          {isMe ? <span className="ml-1.5 font-normal text-muted">{t('you')}</span> : null}
        </p>
        {full_name === email ? null : (
          <p className="wrap-anywhere text-muted text-small">{email}</p>
        )}
      </div>
      <div>
        <p className="font-medium" data-testid="member-role">
          {t(`role.${role}`)}
        </p>
        <p className="mt-0.5 flex gap-1.5 text-muted text-small">
          <FactorIcon
            size={14}
            aria-hidden
            className={`mt-[3px] shrink-0 ${has_second_factor ? 'text-ok' : ''}`}
          />
          {has_second_factor ? t('twoSteps') : t('oneStep')}
        </p>
      </div>
      <dl className="grid gap-y-0.5 text-small">
        <Time name={t('lastUsed')}>
          {last_used_at ? <RelativeTime at={last_used_at} /> : t('never')}
        </Time>
        <Time name={t('since')}>
          <RelativeTime at={joined_at} />
        </Time>
      </dl>
      <div className="flex flex-wrap gap-1 empty:hidden @max-wide:-ml-2.5 @wide:-mt-2 @wide:justify-end">
        {children}
      </div>
    </li>
  )
}

function Time({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex gap-2">
      <dt className="w-[84px] shrink-0 text-muted">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

interface InvitationRowProps {
  invitation: Invitation
  /** Absent for members who may only read. */
  onResend?: () => void
  onDone: () => Promise<unknown>
}

function InvitationRow({ invitation, onResend, onDone }: InvitationRowProps) {
  const t = useTranslations('members')
  const api = useApi()
  const { id, email, role, invited_by: inviter, expires_at, is_expired } = invitation
  const revocation = useMutation({
    mutationFn: () => api.delete('/dashboard/invitations/[id]', { params: { id } }),
    onSettled: onDone,
  })
  return (
    <li
      data-testid="invitation-row"
      className="grid grid-cols-[minmax(0,1fr)] gap-x-6 gap-y-2.5 border-line px-4 py-4 not-first:border-t md:px-[18px] @wide:grid-cols-[minmax(0,1fr)_150px_184px_256px] @wide:items-start"
    >
      <div className="min-w-0">
        <p id={`invitation-${id}`} className="wrap-anywhere font-semibold">
          {email}
        </p>
        {inviter ? (
          <p className="break-words text-muted text-small">{t('invitedBy', { name: inviter })}</p>
        ) : null}
      </div>
      <p className="font-medium">{t(`role.${role}`)}</p>
      <div className="text-small">
        {is_expired ? (
          <Chip tone="off" icon={TimerOff}>
            {t('expired')}
          </Chip>
        ) : (
          <>
            <Chip tone="wait" icon={Clock}>
              {t('waiting')}
            </Chip>
            <p className="mt-1 text-muted">
              {t('until')} <RelativeTime at={expires_at} />
            </p>
          </>
        )}
      </div>
      {onResend ? (
        <div className="flex flex-wrap gap-1 @max-wide:-ml-2.5 @wide:-mt-2 @wide:justify-end">
          <Button variant="plain" aria-describedby={`invitation-${id}`} onClick={onResend}>
            {t('again')}
          </Button>
          <Button
            variant="plain"
            aria-describedby={`invitation-${id}`}
            onClick={() => revocation.mutate()}
            disabled={revocation.isPending}
          >
            {t('revoke')}
          </Button>
        </div>
      ) : null}
      {revocation.error ? (
        <div className="@wide:col-span-4">
          <Problem error={revocation.error} />
        </div>
      ) : null}
    </li>
  )
}

export function InviteButton() {
  const t = useTranslations('members')
  const api = useApi()
  const queryClient = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button variant="primary" onClick={() => setOpen(true)}>
        <UserPlus size={17} aria-hidden />
        {t('invite')}
      </Button>
      {isOpen ? (
        <InviteDialog
          onClose={() => setOpen(false)}
          onDone={() =>
            queryClient.invalidateQueries({ queryKey: memberQueries.list(api).queryKey })
          }
        />
      ) : null}
    </>
  )
}
