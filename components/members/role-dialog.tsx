'use client'

import { useTranslations } from 'next-intl'
import { useApi } from '#components/api.ts'
import { useForm } from '#components/form.ts'
import { RoleFields } from '#components/members/role-fields.tsx'
import { Problem } from '#components/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { type MemberRow, roleChange } from '#lib/accounts/schema.ts'

interface RoleDialogProps {
  member: MemberRow
  me: string
  onClose: () => void
  onDone: () => void
}

export function RoleDialog({ member, me, onClose, onDone }: RoleDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const { user_id: id, full_name: name, role } = member
  const isMe = id === me
  const form = useForm({
    schema: roleChange.test,
    read: data => ({ role: data.get('role') ?? undefined }),
    send: async body => {
      await api.send('PATCH', `/dashboard/members/${id}`, { body })
      // With a new role of one's own, this session has ended like all others.
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
        <RoleFields first={role} />
        <Problem error={form.failure} />
        <div className="flex flex-wrap justify-end gap-3">
          <Button look="quiet" onClick={onClose}>
            {t('ui.cancel')}
          </Button>
          <Button look="primary" type="submit" disabled={form.isBusy}>
            {form.isBusy ? t('members.busy') : t('members.changeRole')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
