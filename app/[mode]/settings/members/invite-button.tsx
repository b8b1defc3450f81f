'use client'

import { useQueryClient } from '@tanstack/react-query'
import { UserPlus } from 'lucide-react'
import dynamic from 'next/dynamic'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { Button } from '#components/ui/button.tsx'

const InviteDialog = dynamic(() =>
  import('#app/[mode]/settings/members/invite-dialog.tsx').then(module => module.InviteDialog),
)

export function InviteButton() {
  const t = useTranslations('members')
  const { scope } = useApi()
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
          onDone={() => queryClient.invalidateQueries({ queryKey: ['members', scope] })}
        />
      ) : null}
    </>
  )
}
