'use client'

import { useMutation, useQuery } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { memberQueries } from '#components/queries/people.ts'
import { Button } from '#components/ui/button.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { InvitationLink } from '#components/ui/invitation-link.tsx'
import {
  type InvitationRow,
  invitationRequest,
  type MemberRow,
  memberRemoval,
  ROLES,
  type Role,
  roleChange,
} from '#lib/accounts/schema.ts'
import { hasPermission } from '#lib/people/roles.ts'
import type { IssuedTokenRow } from '#lib/tokens/schema.ts'

interface InviteDialogProps {
  /** Invitation to send again; the link sent before stops working. */
  invitationToResend?: InvitationRow
  onClose: () => void
  onDone: () => void
}

interface CreatedInvitation {
  link: string | null
  email: string
  isMailed: boolean
}

export function InviteDialog({ invitationToResend, onClose, onDone }: InviteDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const [created, setCreated] = useState<CreatedInvitation | null>(null)
  const form = useForm({
    schema: invitationRequest.test,
    read: data => ({
      email: String(data.get('email')).trim() || undefined,
      role: data.get('role') ?? undefined,
    }),
    send: async (body, idempotencyKey) => {
      const request = { body, idempotencyKey }
      const response = await api.post('/dashboard/invitations', request)
      const { link, is_mailed: isMailed } = response.data
      setCreated({ link, email: body.email, isMailed })
      onDone()
    },
  })
  const { email } = form.problems
  const title = invitationToResend ? t('members.againTitle') : t('members.inviteTitle')
  if (created) {
    return (
      <Dialog onClose={onClose} title={title}>
        <InvitationLink {...created}>
          <Button variant="quiet" onClick={onClose}>
            {t('ui.close')}
          </Button>
        </InvitationLink>
      </Dialog>
    )
  }
  const description = invitationToResend ? t('members.againText') : t('members.inviteText')
  return (
    <Dialog onClose={onClose} title={title} description={description}>
      <form {...form.props} className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <Field
          label={t('members.email')}
          name="email"
          type="email"
          autoComplete="off"
          defaultValue={invitationToResend?.email}
          readOnly={invitationToResend !== undefined}
          problem={email ? t(`members.emailProblem.${email}`) : null}
        />
        <RoleFields defaultRole={invitationToResend?.role ?? 'viewer'} />
        <DialogActions
          action={t('members.send')}
          busy={t('members.busy')}
          isBusy={form.isBusy}
          failure={form.failure}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}

interface RoleDialogProps {
  member: MemberRow
  currentUserId: string
  onClose: () => void
  onDone: () => void
}

export function RoleDialog({ member, currentUserId, onClose, onDone }: RoleDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const { user_id: id, full_name: name, role } = member
  const isMe = id === currentUserId
  const [newRole, setNewRole] = useState(role)
  const issued = useIssuedTokens(member)
  const tokens = newRole === role ? [] : listTokensAbove(newRole, issued.data ?? [])
  const form = useForm({
    schema: roleChange.test,
    read: data => ({
      role: data.get('role') ?? undefined,
      tokens: readTokenDecisions(tokens, data),
    }),
    send: async body => {
      await api.patch('/dashboard/members/[id]', { params: { id }, body })
      // Changing the own role ends every session of the user, including this session.
      if (isMe && body.role !== role) return location.assign('/login')
      onDone()
      onClose()
    },
  })
  return (
    <Dialog
      onClose={onClose}
      title={t('members.roleTitle', { name })}
      description={isMe ? t('members.ownRoleText') : t('members.roleText')}
    >
      <form {...form.props} className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <RoleFields defaultRole={role} onSelect={setNewRole} />
        <TokenDecisions
          name={name}
          tokens={tokens}
          canAdopt={!isMe}
          isWrong={form.problems.tokens !== undefined}
          failure={issued.error}
        />
        <DialogActions
          action={t('members.changeRole')}
          busy={t('members.busy')}
          isBusy={form.isBusy || issued.isPending}
          failure={form.failure}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}

interface RoleFieldsProps {
  defaultRole: Role
  onSelect?: (role: Role) => void
}

function RoleFields({ defaultRole, onSelect }: RoleFieldsProps) {
  const t = useTranslations('members')
  return (
    <fieldset>
      <legend className="mb-1.5 font-semibold text-small">{t('roleLabel')}</legend>
      <ul className="rounded-control border border-line2">
        {ROLES.map(role => (
          <li key={role} className="border-line not-first:border-t">
            <label className="flex min-h-11 items-start gap-3 px-3.5 py-2.5">
              <input
                type="radio"
                name="role"
                value={role}
                defaultChecked={role === defaultRole}
                onChange={() => onSelect?.(role)}
                className="mt-1 size-[18px] shrink-0 accent-accent"
              />
              <span className="min-w-0 flex-1">
                <span className="font-semibold">{t(`role.${role}`)}</span>
                <span className="block text-muted text-small">{t(`can.${role}`)}</span>
              </span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  )
}

interface RemoveDialogProps {
  member: MemberRow
  onClose: () => void
  onDone: () => void
}

export function RemoveDialog({ member, onClose, onDone }: RemoveDialogProps) {
  const t = useTranslations('members')
  const api = useApi()
  const { user_id: id, full_name: name } = member
  const issued = useIssuedTokens(member)
  const tokens = listTokensAbove(null, issued.data ?? [])
  const form = useForm({
    schema: memberRemoval.test,
    read: data => ({ tokens: readTokenDecisions(tokens, data) }),
    send: async body => {
      await api.delete('/dashboard/members/[id]', { params: { id }, body })
      onDone()
      onClose()
    },
  })
  return (
    <Dialog onClose={onClose} title={t('removeTitle', { name })} description={t('removeText')}>
      <form {...form.props} className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <TokenDecisions
          name={name}
          tokens={tokens}
          canAdopt
          isWrong={form.problems.tokens !== undefined}
          failure={issued.error}
        />
        <DialogActions
          action={t('remove')}
          busy={t('busy')}
          isBusy={form.isBusy || issued.isPending}
          failure={form.failure}
          isDestructive
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}

function useIssuedTokens({ user_id: id }: MemberRow) {
  const api = useApi()
  return useQuery(memberQueries.tokens(api, id))
}

/** Returns the tokens that a member with this role may no longer grant; null is a former member. */
function listTokensAbove(role: Role | null, tokens: IssuedTokenRow[]): IssuedTokenRow[] {
  return tokens.filter(({ permissions }) =>
    permissions.some(name => role === null || !hasPermission(role, name)),
  )
}

/** Reads the decisions of a form; one that is missing is reported by the schema. */
function readTokenDecisions(tokens: IssuedTokenRow[], data: FormData) {
  return tokens.map(({ id }) => ({ id, action: data.get(`tokens.${id}`) ?? undefined }))
}

interface TokenDecisionsProps {
  name: string
  tokens: IssuedTokenRow[]
  /** Members cannot adopt what their own new role may not grant. */
  canAdopt: boolean
  isWrong: boolean
  failure: unknown
}

function TokenDecisions({ name, tokens, canAdopt, isWrong, failure }: TokenDecisionsProps) {
  const t = useTranslations('members')
  if (failure) return <Problem error={failure} />
  if (tokens.length === 0) return null
  return (
    <fieldset aria-describedby="issued-note">
      <legend className="mb-1.5 font-semibold text-small">{t('issued.title', { name })}</legend>
      <p
        id="issued-note"
        className={isWrong ? 'font-medium text-bad text-small' : 'text-muted text-small'}
      >
        {isWrong ? t('issued.missing') : canAdopt ? t('issued.text') : t('issued.ownText')}
      </p>
      <ul className="mt-3 max-h-72 overflow-y-auto rounded-control border border-line2">
        {tokens.map(token => (
          <TokenDecision key={token.id} token={token} canAdopt={canAdopt} />
        ))}
      </ul>
    </fieldset>
  )
}

function TokenDecision({ token, canAdopt }: { token: IssuedTokenRow; canAdopt: boolean }) {
  const t = useTranslations('members')
  const { id, name, mode, prefix, last_four } = token
  const actions = canAdopt ? (['adopt', 'revoke'] as const) : (['revoke'] as const)
  return (
    <li data-testid="issued-token" className="border-line px-3.5 py-2.5 not-first:border-t">
      <fieldset>
        <legend className="font-medium">
          {name}{' '}
          <span className="font-normal text-muted text-small">{t(`issued.mode.${mode}`)}</span>
        </legend>
        <p className="truncate font-mono text-[13px] text-muted">
          {prefix}…{last_four}
        </p>
        <div className="mt-1 flex flex-wrap gap-x-6">
          {actions.map(action => (
            <label key={action} className="flex min-h-10 items-center gap-2.5">
              <input
                type="radio"
                name={`tokens.${id}`}
                value={action}
                className="size-[18px] shrink-0 accent-accent"
              />
              {t(`issued.${action}`)}
            </label>
          ))}
        </div>
      </fieldset>
    </li>
  )
}

interface LeaveDialogProps {
  name: string
  onClose: () => void
}

export function LeaveDialog({ name, onClose }: LeaveDialogProps) {
  const t = useTranslations('members')
  const api = useApi()
  const leaving = useMutation({
    mutationFn: () => api.post('/dashboard/members/leave'),
    // Full page load: the cached data belongs to the account just left.
    onSuccess: () => location.assign('/'),
  })
  return (
    <Dialog onClose={onClose} title={t('leaveTitle', { name })} description={t('leaveText')}>
      <div className="grid gap-5">
        <DialogActions
          action={t('leave')}
          busy={t('busy')}
          isBusy={leaving.isPending || leaving.isSuccess}
          failure={leaving.error}
          isDestructive
          onCancel={onClose}
          onConfirm={() => leaving.mutate()}
        />
      </div>
    </Dialog>
  )
}

interface LastOwnerDialogProps {
  /** The action that the last owner cannot take before another member is an owner. */
  wanted: 'leave' | 'role'
  onClose: () => void
}

export function LastOwnerDialog({ wanted, onClose }: LastOwnerDialogProps) {
  const t = useTranslations('members')
  return (
    <Dialog onClose={onClose} title={t('lastOwner.title')} description={t(`lastOwner.${wanted}`)}>
      <div className="flex justify-end">
        <Button variant="quiet" onClick={onClose}>
          {t('lastOwner.close')}
        </Button>
      </div>
    </Dialog>
  )
}
