'use client'

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { OpenInvitations } from '#app/admin/accounts/open-invitations.tsx'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { LinkShown } from '#components/ui/link-shown.tsx'
import { type InvitationRow, openingRequest } from '#lib/rooms/accounts/schema.ts'

const QUERY = ['operator invitations']

export function InviteDialog({ onClose }: { onClose: () => void }) {
  const t = useTranslations('inviteMerchant')
  const api = useApi()
  const client = useQueryClient()
  const [made, setMade] = useState<{ link: string; email: string } | null>(null)
  const { data: open = [] } = useQuery({
    queryKey: QUERY,
    queryFn: async ({ signal }) =>
      (await api.get<{ data: InvitationRow[] }>('/admin/invitations', signal)).data,
  })
  const refresh = () => client.invalidateQueries({ queryKey: QUERY })
  const { problems, failure, isBusy, props } = useForm({
    schema: openingRequest,
    read: data => ({ email: String(data.get('email')).trim() || undefined }),
    send: async body => {
      const said = await api.send<{ data: { link: string } }>('POST', '/admin/invitations', {
        body,
      })
      setMade({ link: said.data.link, email: body.email })
      await refresh()
    },
  })
  if (made) {
    return (
      <Dialog isOpen onClose={onClose} title={t('title')}>
        <LinkShown {...made}>
          <Button look="quiet" onClick={() => setMade(null)}>
            {t('another')}
          </Button>
        </LinkShown>
      </Dialog>
    )
  }
  return (
    <Dialog isOpen onClose={onClose} title={t('title')} description={t('text')}>
      <form {...props} className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <Field
          label={t('email')}
          name="email"
          type="email"
          autoComplete="off"
          problem={problems.email ? t(`emailProblem.${problems.email}`) : null}
        />
        <Problem error={failure} />
        <div className="flex justify-end">
          <Button look="primary" type="submit" disabled={isBusy}>
            {isBusy ? t('busy') : t('send')}
          </Button>
        </div>
      </form>
      {open.length > 0 ? <OpenInvitations invitations={open} onDone={refresh} /> : null}
    </Dialog>
  )
}
