'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { ExactTime } from '#components/format/exact-time.tsx'
import { Money } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Fact, Facts } from '#components/ui/facts.tsx'
import type { ApprovalSettings } from '#lib/views/dashboard/schema.ts'

interface ApprovalChangeProps {
  accountId: string
  settings: ApprovalSettings
}

/** The account's rule of approval; an admin confirms the weaker one that an owner requested. */
export function ApprovalChange({ accountId, settings: initialSettings }: ApprovalChangeProps) {
  const t = useTranslations('adminAccount')
  const api = useApi()
  const [settings, setSettings] = useState(initialSettings)
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  const { change } = settings
  async function confirm(id: string) {
    setBusy(true)
    setFailure(null)
    try {
      const path = `/admin/accounts/${accountId}/approval`
      setSettings((await api.send<{ data: ApprovalSettings }>('POST', path, { body: { id } })).data)
    } catch (error) {
      setFailure(error)
    }
    setBusy(false)
  }
  return (
    <div className="grid gap-4">
      <Rule rule={settings} />
      {change ? (
        <>
          <p className="text-small">
            {t('approval.change', { name: change.requester })}{' '}
            <ExactTime at={change.expires_at} format="dated" />
          </p>
          <Rule rule={change} />
          <Problem error={failure} />
          <div>
            <Button variant="quiet" disabled={isBusy} onClick={() => confirm(change.id)}>
              {t('approval.confirm')}
            </Button>
          </div>
        </>
      ) : null}
    </div>
  )
}

function Rule({ rule }: { rule: Pick<ApprovalSettings, 'new_keys' | 'above'> }) {
  const t = useTranslations('adminAccount')
  return (
    <Facts>
      <Fact name={t('approval.newKeys')}>
        {rule.new_keys ? t('approval.on') : t('approval.off')}
      </Fact>
      <Fact name={t('approval.above')}>
        {rule.above === null ? t('approval.off') : <Money cents={rule.above} />}
      </Fact>
    </Facts>
  )
}
