import { ScrollText, SearchX } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { buttonClass } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { Mode } from '#lib/core/mode.ts'

interface NoMovementsProps {
  /** Whether the page shows all movements, so that the account has none at all. */
  isAllTime: boolean
  mode: Mode
}

export function NoMovements({ isAllTime, mode }: NoMovementsProps) {
  const t = useTranslations('statement')
  return (
    <Sheet>
      {isAllTime ? (
        <EmptyState icon={ScrollText} title={t('none')} text={t('noneText')} />
      ) : (
        <EmptyState icon={SearchX} title={t('noneFit')} text={t('noneFitText')}>
          <Link
            href={`/${mode}/statement?period=all`}
            prefetch={false}
            className={buttonClass('quiet')}
          >
            {t('allTime')}
          </Link>
        </EmptyState>
      )}
    </Sheet>
  )
}
