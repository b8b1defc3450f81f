'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Findings } from '#app/admin/banks/[id]/findings.tsx'
import { useAction, useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Section } from '#components/ui/sheet.tsx'
import type { BankChecked, BankDetail } from '#lib/operator/banks/schema.ts'

/** Asks the bank, and shows what was found until the page is left. */
export function CheckSection({ bank }: { bank: BankDetail }) {
  const t = useTranslations('banks')
  const api = useApi()
  const router = useRouter()
  const [checked, setChecked] = useState<BankChecked | null>(null)
  const { run, isBusy, failure } = useAction(async () => {
    const path = `/admin/banks/${bank.id}/check`
    setChecked((await api.send<{ data: BankChecked }>('POST', path)).data)
    router.refresh()
  })
  return (
    <Section title={t('check.title')} text={t('check.text')}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        {checked ? (
          <>
            <p role="status" className="font-semibold">
              {t(`check.${outcomeOf(checked)}`)}
            </p>
            <Findings findings={checked.findings} />
          </>
        ) : null}
        <Problem error={failure} />
        <div>
          <Button
            variant={bank.state === 'unchecked' ? 'primary' : 'quiet'}
            onClick={() => run()}
            disabled={isBusy}
          >
            {isBusy ? t('check.running') : checked ? t('check.again') : t('check.run')}
          </Button>
        </div>
      </div>
    </Section>
  )
}

function outcomeOf({ code }: BankChecked) {
  return code === null ? 'silent' : code === 'ok' ? 'passed' : 'failed'
}
