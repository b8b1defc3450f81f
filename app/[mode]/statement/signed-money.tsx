import { useLocale } from 'next-intl'
import { moneyText } from '#components/format/format.tsx'

export function SignedMoney({ cents }: { cents: number }) {
  const sign = cents > 0 ? '+' : cents < 0 ? '\u2212' : ''
  return (
    <span className={`whitespace-nowrap ${cents > 0 ? 'text-ok' : ''}`}>
      {sign} {moneyText(Math.abs(cents), useLocale())}
    </span>
  )
}
