'use client'

import { Check, Eye, Pause } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useAction, useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { ExactTime, Money } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import type { ApprovalRule } from '#lib/accounts/schema.ts'
import type { ApprovalSettings } from '#lib/dashboard/schema.ts'
import type { AccountDetail } from '#lib/operator/schema.ts'

const ReasonDialog = lazyDialog(() => import('#app/admin/reason-dialog.tsx'), 'ReasonDialog')

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

interface ApprovalChangeProps {
  accountId: string
  settings: ApprovalSettings
}

/** The account's rule of approval; an admin confirms the weaker one that an owner requested. */
export function ApprovalChange({ accountId, settings: initialSettings }: ApprovalChangeProps) {
  const t = useTranslations('adminAccount')
  const api = useApi()
  const [settings, setSettings] = useState(initialSettings)
  const { change } = settings
  const confirmation = useAction(async (id: string) => {
    const path = `/admin/accounts/${accountId}/approval`
    setSettings((await api.send<{ data: ApprovalSettings }>('POST', path, { body: { id } })).data)
  })
  return (
    <div className="grid gap-4">
      <Rule rule={settings} />
      {change ? (
        <>
          <p className="text-small">
            {t('approval.change', { name: change.requester })}{' '}
            <ExactTime at={change.expires_at} format="dated" />.
          </p>
          <Rule rule={change} />
          <Problem error={confirmation.failure} />
          {change.can_confirm ? (
            <div>
              <Button
                variant="quiet"
                disabled={confirmation.isBusy}
                onClick={() => confirmation.run(change.id)}
              >
                {t('approval.confirm')}
              </Button>
            </div>
          ) : (
            <p className="text-small">{t('approval.other')}</p>
          )}
        </>
      ) : null}
    </div>
  )
}

function Rule({ rule }: { rule: ApprovalRule }) {
  const t = useTranslations('adminAccount')
  return (
    <Facts>
      <Fact name={t('approval.newKeys')}>
        {rule.new_keys ? t('approval.on') : t('approval.off')}
      </Fact>
      <Fact name={t('approval.above')}>
        {rule.above === null ? t('approval.off') : <Money cents={rule.above} />}
      </Fact>
      <Fact name={t('approval.dayAbove')}>
        {rule.day_above === null ? t('approval.off') : <Money cents={rule.day_above} />}
      </Fact>
    </Facts>
  )
}
