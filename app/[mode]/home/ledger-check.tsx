import { Check, CircleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Hint } from '#app/[mode]/home/hint.tsx'
import { DATED_FORMAT, useTimeText } from '#components/format/exact-time.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { Notice } from '#components/ui/notice.tsx'
import type { Home } from '#lib/dashboard/schema.ts'

/** Result of the last ledger check; the first runs a minute after the account is created. */
export function LedgerCheck({ books }: Pick<Home, 'books'>) {
  const t = useTranslations('books')
  const text = useTimeText()
  if (!books) return null
  const time = text(books.checked_at, DATED_FORMAT)
  return books.is_right ? (
    <Hint isPlain text={t('rightWhen', { time })}>
      <Chip tone="ok" icon={Check}>
        {t('right')}
      </Chip>
    </Hint>
  ) : (
    <Hint isPlain text={t('wrongWhen', { time })}>
      <Chip tone="bad" icon={CircleAlert}>
        {t('wrong')}
      </Chip>
    </Hint>
  )
}

export function LedgerWarning({ books }: Pick<Home, 'books'>) {
  const t = useTranslations('books')
  if (!books || books.is_right) return null
  return (
    <div className="mb-6 md:mb-8">
      <Notice tone="bad" icon={CircleAlert} role="alert">
        {t.rich('wrongHelp', { code: words => <code className="font-mono">{words}</code> })}
      </Notice>
    </div>
  )
}
