import { useTranslations } from 'next-intl'
import { Money } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { DifferenceSummary } from '#lib/operator/differences/schema.ts'

/** Count, age and sum of the open items. */
export function OpenSummary({ open }: { open: DifferenceSummary }) {
  const t = useTranslations('differences')
  const { count, amount, oldest_at: oldestAt } = open
  return (
    <Sheet className="mb-5 px-4 py-4 md:px-6">
      <dl className="grid grid-cols-2 gap-x-6 gap-y-4 md:grid-cols-3">
        <div>
          <dt className="text-muted text-small">{t('open')}</dt>
          <dd className="font-semibold text-title tabular-nums" data-testid="open-count">
            {count}
          </dd>
        </div>
        <div>
          <dt className="text-muted text-small">{t('oldest')}</dt>
          <dd className="font-semibold text-title">
            {oldestAt ? <RelativeTime at={oldestAt} /> : '—'}
          </dd>
        </div>
        <div className="col-span-2 md:col-span-1">
          <dt className="text-muted text-small">{t('held')}</dt>
          <dd className="flex flex-wrap items-baseline gap-x-2">
            <span className="font-semibold text-title">
              <Money cents={amount.live} />
            </span>
            <span className="text-muted text-small">
              {t('inTest')} <Money cents={amount.test} />
            </span>
          </dd>
        </div>
      </dl>
    </Sheet>
  )
}
