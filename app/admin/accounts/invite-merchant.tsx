'use client'

import { Building2 } from 'lucide-react'
import dynamic from 'next/dynamic'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'

const InviteDialog = dynamic(
  async () => (await import('#app/admin/accounts/invite-dialog.tsx')).InviteDialog,
)

export function InviteMerchant() {
  const t = useTranslations('inviteMerchant')
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button variant="primary" onClick={() => setOpen(true)}>
        <Building2 size={17} aria-hidden />
        {t('invite')}
      </Button>
      {isOpen ? <InviteDialog onClose={() => setOpen(false)} /> : null}
    </>
  )
}
