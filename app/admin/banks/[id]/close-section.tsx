'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Section } from '#components/ui/sheet.tsx'
import type { BankDetail } from '#lib/operator/banks/schema.ts'

const ReasonDialog = lazyDialog(() => import('#app/admin/reason-dialog.tsx'), 'ReasonDialog')

/** Closes the connection; of a closed one, says what is left. */
export function CloseSection({ bank }: { bank: BankDetail }) {
  const t = useTranslations('banks')
  const [isOpen, setOpen] = useState(false)
  const { name, state, assigned, open_work: work } = bank
  const isEmpty = work.charges + work.withdrawals + work.refunds === 0
  const left = isEmpty ? t('close.nothing') : t('close.open', { ...work })
  if (state === 'closed')
    return (
      <Section title={t('close.title')}>
        <p>{left}</p>
      </Section>
    )
  return (
    <Section title={t('close.title')} text={t('close.text')}>
      <p className="mb-4 text-small">{left}</p>
      <Button variant="quiet" onClick={() => setOpen(true)} className="text-bad!">
        {t('close.run')}
      </Button>
      {isOpen ? (
        <ReasonDialog
          title={t('close.dialogTitle', { name })}
          description={t('close.dialogText', { accounts: assigned.length })}
          action={t('close.run')}
          path={`/admin/banks/${bank.id}/close`}
          isDestructive
          onClose={() => setOpen(false)}
        />
      ) : null}
    </Section>
  )
}
