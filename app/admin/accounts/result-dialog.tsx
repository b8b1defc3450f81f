'use client'

import { useTranslations } from 'next-intl'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { type ChangedStatus, STATUS_OUTCOMES } from '#lib/accounts/states.ts'

interface ResultDialogProps {
  results: ChangedStatus[]
  names: ReadonlyMap<string, string>
  onClose: () => void
}

/** Shows what became of each account, those that did not change by name. */
export function ResultDialog({ results, names, onClose }: ResultDialogProps) {
  const t = useTranslations('accountSelection')
  return (
    <Dialog isOpen onClose={onClose} title={t('results')}>
      <dl className="grid grid-cols-[minmax(0,1fr)] gap-4">
        {STATUS_OUTCOMES.map(outcome => {
          const accounts = results.filter(result => result.outcome === outcome)
          if (accounts.length === 0) return null
          return (
            <div key={outcome}>
              <dt className="font-semibold">
                {t(`outcome.${outcome}`, { count: accounts.length })}
              </dt>
              {accounts.map(({ account_id: id }) => (
                <dd key={id} className="text-muted text-small">
                  {names.get(id) ?? id}
                </dd>
              ))}
            </div>
          )
        })}
      </dl>
      <div className="mt-5 flex justify-end">
        <Button variant="primary" onClick={onClose}>
          {t('close')}
        </Button>
      </div>
    </Dialog>
  )
}
