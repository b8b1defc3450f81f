'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useAction, useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Code } from '#components/ui/code.tsx'
import { Section } from '#components/ui/sheet.tsx'
import type { SettingsCorrected } from '#lib/operator/banks/schema.ts'

/** Has the account at the bank refuse payments of no charge. */
export function SettingsSection({ bankId }: { bankId: string }) {
  const t = useTranslations('banks')
  const api = useApi()
  const [corrected, setCorrected] = useState<SettingsCorrected | null>(null)
  const { run, isBusy, failure } = useAction(async () => {
    const path = `/admin/banks/${bankId}/settings`
    setCorrected((await api.send<{ data: SettingsCorrected }>('POST', path)).data)
  })
  return (
    <Section title={t('settings.title')} text={t('settings.text')}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        {corrected ? <Corrected corrected={corrected} /> : null}
        <Problem error={failure} />
        <div>
          <Button variant="quiet" onClick={() => run()} disabled={isBusy}>
            {isBusy ? t('busy') : t('settings.run')}
          </Button>
        </div>
      </div>
    </Section>
  )
}

function Corrected({ corrected: { settings, refusal } }: { corrected: SettingsCorrected }) {
  const t = useTranslations('banks')
  if (refusal !== null)
    return (
      <p role="status" className="break-words font-medium text-bad">
        {t('settings.refused', { reason: refusal })}
      </p>
    )
  if (settings.length === 0) return <p role="status">{t('settings.none')}</p>
  return (
    <div role="status">
      <p>{t('settings.changed')}</p>
      <ul className="mt-1 grid gap-1">
        {settings.map(setting => (
          <li key={setting} className="break-all">
            <Code>{setting}</Code>
          </li>
        ))}
      </ul>
    </div>
  )
}
