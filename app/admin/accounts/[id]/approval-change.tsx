'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useAction } from '#components/form/action.ts'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { ExactTime } from '#components/format/exact-time.tsx'
import { Money } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Fact, Facts } from '#components/ui/facts.tsx'
import type { ApprovalRule } from '#lib/accounts/schema.ts'
import type { ApprovalSettings } from '#lib/dashboard/schema.ts'

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
