'use client'

import { Check, Eye, Pause } from 'lucide-react'
import dynamic from 'next/dynamic'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import type { AccountDetail } from '#lib/operator/schema.ts'

const ReasonDialog = dynamic(() =>
  import('#app/admin/reason-dialog.tsx').then(module => module.ReasonDialog),
)

type StatusAction = 'activate' | 'suspend'

export function ViewButton({ id, name }: Pick<AccountDetail, 'id' | 'name'>) {
  const t = useTranslations('viewing')
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button variant="quiet" onClick={() => setOpen(true)}>
        <Eye size={16} aria-hidden />
        {t('begin')}
      </Button>
      {isOpen ? (
        <ReasonDialog
          title={t('title', { name })}
          description={t('text')}
          action={t('begin')}
          path={`/admin/accounts/${id}/view`}
          onClose={() => setOpen(false)}
          // Full page load: the frame of this page belongs to another account or none.
          onDone={() => location.assign('/')}
        />
      ) : null}
    </>
  )
}

export function AccountActions({ account }: { account: AccountDetail }) {
  const t = useTranslations('adminAccount')
  const [confirming, setConfirming] = useState<StatusAction | null>(null)
  const { id, name, status } = account
  return (
    <>
      {status === 'suspended' ? null : (
        <Button variant="quiet" onClick={() => setConfirming('suspend')}>
          <Pause size={16} aria-hidden />
          {t('suspend')}
        </Button>
      )}
      {status === 'active' ? null : (
        <Button variant="primary" onClick={() => setConfirming('activate')}>
          <Check size={16} aria-hidden />
          {t('activate')}
        </Button>
      )}
      {confirming ? (
        <ReasonDialog
          title={t(`${confirming}Title`, { name })}
          description={t(`${confirming}Text`)}
          action={t(confirming)}
          path={`/admin/accounts/${id}/${confirming}`}
          isOptional={confirming === 'activate'}
          isDestructive={confirming === 'suspend'}
          onClose={() => setConfirming(null)}
        />
      ) : null}
    </>
  )
}

interface RevokeAllButtonProps {
  accountId: string
  name: string
  count: number
}

export function RevokeAllButton({ accountId, name, count }: RevokeAllButtonProps) {
  const t = useTranslations('adminTokens')
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button variant="plain" onClick={() => setOpen(true)} className="text-bad!">
        {t('revokeAll')}
      </Button>
      {isOpen ? (
        <ReasonDialog
          title={t('revokeAllTitle', { count, account: name })}
          description={t('revokeAllText')}
          action={t('revokeAll')}
          path={`/admin/accounts/${accountId}/tokens/revoke`}
          isDestructive
          onClose={() => setOpen(false)}
        />
      ) : null}
    </>
  )
}
