'use client'

import dynamic from 'next/dynamic'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'

const ReasonDialog = dynamic(() =>
  import('#app/admin/reason-dialog.tsx').then(found => found.ReasonDialog),
)

interface RevokeAllProps {
  accountId: string
  name: string
  count: number
}

export function RevokeAll({ accountId, name, count }: RevokeAllProps) {
  const t = useTranslations('adminTokens')
  const [isAsked, setAsked] = useState(false)
  return (
    <>
      <Button look="plain" onClick={() => setAsked(true)} className="text-bad!">
        {t('revokeAll')}
      </Button>
      {isAsked ? (
        <ReasonDialog
          title={t('revokeAllTitle', { count, account: name })}
          description={t('revokeAllText')}
          action={t('revokeAll')}
          path={`/admin/accounts/${accountId}/tokens/revoke`}
          isHarsh
          onClose={() => setAsked(false)}
        />
      ) : null}
    </>
  )
}
