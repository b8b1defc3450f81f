'use client'

import { useTranslations } from 'next-intl'
import { Days } from '#components/filters/period-filter.tsx'
import { Dialog } from '#components/ui/dialog.tsx'

interface ChooseDaysProps {
  from: string
  to: string
  onChoose: (from: string, to: string) => void
  onClose: () => void
}

export function ChooseDays({ onClose, ...days }: ChooseDaysProps) {
  const t = useTranslations('period')
  return (
    <Dialog isOpen onClose={onClose} title={t('custom')}>
      <Days {...days} />
    </Dialog>
  )
}
