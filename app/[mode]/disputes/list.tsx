'use client'

import { ShieldAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { ChoiceFilter } from '#components/filters/filters.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { useFilters } from '#components/filters/use-filters.ts'
import { DisputeRows } from '#components/status/dispute-rows.tsx'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'
import type { OwnDispute } from '#lib/charges/disputes/schema.ts'
import { DISPUTE_FILTERS, ownReference } from '#lib/charges/states.ts'

interface OwnDisputesProps {
  disputes: OwnDispute[]
  nextCursor: string | null
}

/** Disputes of the account; each leads to its charge. */
export function OwnDisputes({ disputes, nextCursor }: OwnDisputesProps) {
  const t = useTranslations('disputes')
  const { get, set, clear, isSet, isPending } = useFilters<'status'>()
  const rows = disputes.map(dispute => ({
    ...dispute,
    subject: dispute.client_name || '—',
    detail: ownReference(dispute.charge_id, dispute.external_id) ?? undefined,
    href: `/${dispute.mode}/charges/${dispute.charge_id}`,
  }))
  return (
    <>
      <div className="mb-4 flex">
        <ChoiceFilter
          label={t('status')}
          value={get('status')}
          choices={DISPUTE_FILTERS.map(value => ({ value, label: t(`filter.${value}`) }))}
          onChoose={status => set({ status })}
        />
      </div>
      <ListBody error={null} isPending={isPending} nextCursor={nextCursor}>
        {rows.length > 0 ? (
          <DisputeRows subjectHead={t('charge')} disputes={rows} />
        ) : (
          <Sheet>
            {!isSet ? (
              <EmptyState icon={ShieldAlert} title={t('none')} text={t('noneText')} />
            ) : (
              <NoMatches title={t('noneFit')} text={t('noneFitFilter')} clear={clear} />
            )}
          </Sheet>
        )}
      </ListBody>
    </>
  )
}
