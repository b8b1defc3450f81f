'use client'

import { useTranslations } from 'next-intl'
import { rowFieldName } from '#app/[mode]/charges/new/new-charge.ts'
import { AddRow, RemoveRow, RowInput, useRows } from '#app/[mode]/charges/new/rows.tsx'

interface MetadataFieldProps {
  onRowsChange: (ids: number[]) => void
  problem: string | null
}

export function MetadataField({ onRowsChange, problem }: MetadataFieldProps) {
  const t = useTranslations('newCharge')
  const { ids, addedId, add, remove } = useRows('metadata', onRowsChange)
  return (
    <fieldset name="metadata" tabIndex={-1} className="grid gap-2.5">
      <legend className="mb-1.5 font-semibold text-small">{t('metadata')}</legend>
      {ids.map((id, index) => {
        const number = index + 1
        return (
          <div key={id} className="grid grid-cols-[minmax(0,1fr)_minmax(0,1.6fr)_auto] gap-2">
            <RowInput
              autoFocus={id === addedId}
              name={rowFieldName('metadata', id, 'key')}
              label={t('metadataKey', { number })}
              placeholder={t('keyPlaceholder')}
            />
            <RowInput
              name={rowFieldName('metadata', id, 'value')}
              label={t('metadataValue', { number })}
              placeholder={t('valuePlaceholder')}
            />
            <RemoveRow label={t('metadataRemove', { number })} onClick={() => remove(id)} />
          </div>
        )
      })}
      <AddRow label={t('metadataAdd')} onClick={add} />
      {problem ? <p className="font-medium text-bad text-small">{problem}</p> : null}
    </fieldset>
  )
}
