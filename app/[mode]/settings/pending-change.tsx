'use client'

import { Clock } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useAction } from '#components/form/action.ts'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { ExactTime } from '#components/format/exact-time.tsx'
import { Money } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Notice } from '#components/ui/notice.tsx'
import type { ApprovalSettings } from '#lib/dashboard/schema.ts'

interface PendingChangeProps {
  change: NonNullable<ApprovalSettings['change']>
  canWrite: boolean
  onDecided: (settings: ApprovalSettings) => void
}

/** A weaker rule that waits for another owner; any owner may cancel it. */
export function PendingChange({ change, canWrite, onDecided }: PendingChangeProps) {
  const t = useTranslations('approvalRule')
  const api = useApi()
  const decision = useAction(async (method: 'POST' | 'DELETE', path: string, body?: object) =>
    onDecided((await api.send<{ data: ApprovalSettings }>(method, path, { body })).data),
  )
  const path = '/dashboard/account/approval'
  const confirm = () => decision.run('POST', `${path}/confirm`, { id: change.id })
  const isBusy = decision.isBusy || decision.isDone
  return (
    <div className="grid gap-3">
      <Notice tone="wait" icon={Clock}>
        {t('change', { name: change.requester })} <ChangeText change={change} />{' '}
        {t(change.can_confirm ? 'changeConfirm' : 'changeWaits')} {t('changeUntil')}{' '}
        <ExactTime at={change.expires_at} format="dated" />.
      </Notice>
      <Problem error={decision.failure} />
      {canWrite ? (
        <div className="flex flex-wrap gap-3">
          {change.can_confirm ? (
            <Button variant="primary" disabled={isBusy} onClick={confirm}>
              {t('confirm')}
            </Button>
          ) : null}
          <Button variant="quiet" disabled={isBusy} onClick={() => decision.run('DELETE', path)}>
            {t('cancelChange')}
          </Button>
        </div>
      ) : null}
    </div>
  )
}

function ChangeText({ change }: Pick<PendingChangeProps, 'change'>) {
  const t = useTranslations('approvalRule')
  const { new_keys, above, day_above } = change
  return (
    <>
      {t(new_keys ? 'changeKeysOn' : 'changeKeysOff')}{' '}
      {above === null
        ? t('changeNoAmount')
        : t.rich('changeAmount', { amount: () => <Money cents={above} /> })}{' '}
      {day_above === null
        ? t('changeNoDayAmount')
        : t.rich('changeDayAmount', { amount: () => <Money cents={day_above} /> })}
    </>
  )
}
