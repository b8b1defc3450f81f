'use client'

import { useQueryClient } from '@tanstack/react-query'
import { UserPlus } from 'lucide-react'
import dynamic from 'next/dynamic'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { Button } from '#components/ui/button.tsx'

const InviteDialog = dynamic(() =>
  import('#app/[mode]/settings/members/invite-dialog.tsx').then(found => found.InviteDialog),
)

export function InviteButton() {
  const t = useTranslations('members')
  const { scope } = useApi()
  const client = useQueryClient()
  const [isAsked, setAsked] = useState(false)
  return (
    <>
      <Button look="primary" onClick={() => setAsked(true)}>
        <UserPlus size={17} aria-hidden />
        {t('invite')}
      </Button>
      {isAsked ? (
        <InviteDialog
          onClose={() => setAsked(false)}
          onDone={() => client.invalidateQueries({ queryKey: ['members', scope] })}
        />
      ) : null}
    </>
  )
}
