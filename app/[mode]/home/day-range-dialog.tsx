'use client'

import { useTranslations } from 'next-intl'
import { DayRangeForm } from '#components/filters/period-filter.tsx'
import { Dialog } from '#components/ui/dialog.tsx'

interface DayRangeDialogProps {
  from: string
  to: string
  onChoose: (from: string, to: string) => void
  onClose: () => void
}

export function DayRangeDialog({ onClose, ...days }: DayRangeDialogProps) {
  const t = useTranslations('period')
  return (
    <Dialog isOpen onClose={onClose} title={t('custom')}>
      <DayRangeForm {...days} />
    </Dialog>
  )
}
