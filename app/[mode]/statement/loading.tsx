import { useTranslations } from 'next-intl'
import { Sheet, Skeleton } from '#components/ui/sheet.tsx'

const ROW_KEYS = ['a', 'b', 'c', 'd', 'e', 'f']

/** Placeholder with the proportions of the page, to avoid a layout shift. */
export default function StatementLoading() {
  const t = useTranslations()
  return (
    <div aria-busy="true">
      <div className="mb-6 flex items-end lg:mb-7 lg:min-h-11">
        <h1 className="text-head">{t('statement.title')}</h1>
      </div>
      <p role="status" className="sr-only">
        {t('ui.loading')}
      </p>
      <Skeleton className="mb-4 h-9 w-56" />
      <Sheet className="mb-6 h-[148px] lg:h-[104px]" />
      <Sheet className="grid gap-6 px-[18px] py-5">
        {ROW_KEYS.map(row => (
          <Skeleton key={row} className="h-6" />
        ))}
      </Sheet>
    </div>
  )
}
