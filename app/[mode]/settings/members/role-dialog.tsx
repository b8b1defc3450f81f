'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { RoleFields } from '#app/[mode]/settings/members/role-fields.tsx'
import {
  listTokensAbove,
  readTokenDecisions,
  TokenDecisions,
  useIssuedTokens,
} from '#app/[mode]/settings/members/token-decisions.tsx'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { type MemberRow, roleChange } from '#lib/accounts/schema.ts'

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
      await api.send('PATCH', `/dashboard/members/${id}`, { body })
      // Changing the own role ends every session of the user, including this session.
      if (isMe && body.role !== role) return location.assign('/login')
      onDone()
      onClose()
    },
  })
  return (
    <Dialog
      isOpen
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
