'use client'

import { useTranslations } from 'next-intl'
import {
  listTokensAbove,
  readTokenDecisions,
  TokenDecisions,
  useIssuedTokens,
} from '#app/[mode]/settings/members/token-decisions.tsx'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { type MemberRow, memberRemoval } from '#lib/accounts/schema.ts'

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
      await api.send('DELETE', `/dashboard/members/${id}`, { body })
      onDone()
      onClose()
    },
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t('removeTitle', { name })}
      description={t('removeText')}
    >
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
