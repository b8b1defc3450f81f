'use client'

import { Check, Pause } from 'lucide-react'
import dynamic from 'next/dynamic'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import type { AccountDetail } from '#lib/views/admin/schema.ts'

const ReasonDialog = dynamic(() =>
  import('#app/admin/reason-dialog.tsx').then(found => found.ReasonDialog),
)

type Deed = 'activate' | 'suspend'

export function AccountActions({ account }: { account: AccountDetail }) {
  const t = useTranslations('adminAccount')
  const [asked, setAsked] = useState<Deed | null>(null)
  const { id, name, status } = account
  return (
    <>
      {status === 'suspended' ? null : (
        <Button look="quiet" onClick={() => setAsked('suspend')}>
          <Pause size={16} aria-hidden />
          {t('suspend')}
        </Button>
      )}
      {status === 'active' ? null : (
        <Button look="primary" onClick={() => setAsked('activate')}>
          <Check size={16} aria-hidden />
          {t('activate')}
        </Button>
      )}
      {asked ? (
        <ReasonDialog
          title={t(`${asked}Title`, { name })}
          description={t(`${asked}Text`)}
          action={t(asked)}
          path={`/admin/accounts/${id}/${asked}`}
          isOptional={asked === 'activate'}
          isHarsh={asked === 'suspend'}
          onClose={() => setAsked(null)}
        />
      ) : null}
    </>
  )
}

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
