import { ScrollText, SearchX } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { buttonClass } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { Mode } from '#lib/base/mode.ts'

interface NoMovementsProps {
  /** The account has no movements at all, not only in this period. */
  isEver: boolean
  mode: Mode
}

export function NoMovements({ isEver, mode }: NoMovementsProps) {
  const t = useTranslations('statement')
  return (
    <Sheet>
      {isEver ? (
        <Empty icon={ScrollText} title={t('none')} text={t('noneText')} />
      ) : (
        <Empty icon={SearchX} title={t('noneFit')} text={t('noneFitText')}>
          <Link
            href={`/${mode}/statement?period=all`}
            prefetch={false}
            className={buttonClass('quiet')}
          >
            {t('allTime')}
          </Link>
        </Empty>
      )}
    </Sheet>
  )
}
