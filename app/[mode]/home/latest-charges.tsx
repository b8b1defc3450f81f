import { Plus, QrCode } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { IfMay } from '#components/nav/may.tsx'
import { ChargeRows } from '#components/status/charge-rows.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { Mode } from '#lib/base/mode.ts'
import type { ListedCharge } from '#lib/rooms/charges/schema.ts'

interface LatestChargesProps {
  charges: ListedCharge[]
  mode: Mode
}

/** The latest charges, and where the others are. */
export function LatestCharges({ charges, mode }: LatestChargesProps) {
  const t = useTranslations('home')
  return (
    <section>
      <div className="mb-2.5 flex items-center justify-between gap-4">
        <h2 className="text-title">{t('recent')}</h2>
        <Link
          href={`/${mode}/charges`}
          prefetch={false}
          className="inline-flex min-h-6 items-center font-semibold text-accent text-small hover:underline"
        >
          {t('all')}
        </Link>
      </div>
      {charges.length === 0 ? (
        <Sheet>
          <None mode={mode} />
        </Sheet>
      ) : (
        <ChargeRows label={t('recent')} created={t('created')} charges={charges} />
      )}
    </section>
  )
}

function None({ mode }: { mode: Mode }) {
  const t = useTranslations('home')
  return (
    <Empty icon={QrCode} title={t('none')} text={t('noneHow')}>
      <IfMay do="transactions:write">
        <Link href={`/${mode}/charges/new`} prefetch={false} className={buttonClass('quiet')}>
          <Plus size={17} aria-hidden />
          {t('newCharge')}
        </Link>
      </IfMay>
    </Empty>
  )
}
